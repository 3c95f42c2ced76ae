/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef UNIT_ASM_BYTEORDER_H
#define UNIT_ASM_BYTEORDER_H

#include_next <asm/byteorder.h>
#include <endian.h>
#include <linux/types.h>

#define cpu_to_le16(x)	((__force __le16)htole16(x))
#define cpu_to_le32(x)	((__force __le32)htole32(x))
#define cpu_to_le64(x)	((__force __le64)htole64(x))
#define cpu_to_be16(x)	((__force __be16)htobe16(x))
#define cpu_to_be32(x)	((__force __be32)htobe32(x))
#define cpu_to_be64(x)	((__force __be64)htobe64(x))
#define le16_to_cpu(x)	le16toh((__force u16)(x))
#define le32_to_cpu(x)	le32toh((__force u32)(x))
#define le64_to_cpu(x)	le64toh((__force u64)(x))
#define be16_to_cpu(x)	be16toh((__force u16)(x))
#define be32_to_cpu(x)	be32toh((__force u32)(x))
#define be64_to_cpu(x)	be64toh((__force u64)(x))

#endif
