// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stack traces of the lab's user-mode kernels, in the place of arch/um/kernel/stacktrace.c.
 *
 * The checkers keep the callers of every allocation. The kernel's own code looks at each word of
 * the stack and asks for each whether it points to code; with the checkers that is seven tenths
 * of all time. This follows the frame pointers.
 */
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/stacktrace.h>
#include <asm/stacktrace.h>

/* The frame that called @frame's function, or NULL at the stack's end; stacks grow down. */
static struct stack_frame *caller(struct stack_frame *frame)
{
	unsigned long here = (unsigned long)frame;
	unsigned long next = (unsigned long)READ_ONCE_NOCHECK(frame->next_frame);

	if (next <= here || ((next ^ here) & ~(THREAD_SIZE - 1)))
		return NULL;
	return (struct stack_frame *)next;
}

static struct stack_frame *innermost(struct task_struct *task)
{
	return (struct stack_frame *)get_frame_pointer(task, task->thread.segv_regs);
}

void dump_trace(struct task_struct *task, const struct stacktrace_ops *ops, void *data)
{
	struct stack_frame *frame;

	for (frame = innermost(task); frame; frame = caller(frame))
		ops->address(data, READ_ONCE_NOCHECK(frame->return_address), 1);
}

void save_stack_trace_tsk(struct task_struct *task, struct stack_trace *trace)
{
	struct stack_frame *frame;

	for (frame = innermost(task); frame && trace->nr_entries < trace->max_entries;
	     frame = caller(frame))
		trace->entries[trace->nr_entries++] = READ_ONCE_NOCHECK(frame->return_address);
}
EXPORT_SYMBOL_GPL(save_stack_trace_tsk);

void save_stack_trace(struct stack_trace *trace)
{
	save_stack_trace_tsk(current, trace);
}
EXPORT_SYMBOL_GPL(save_stack_trace);
