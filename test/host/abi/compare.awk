# SPDX-License-Identifier: GPL-2.0-only
#
# awk -v kernel=NAME -f compare.awk DIFFERENCES RECORD OURS: prints what is in neither, and
# fails when there is something.
#
# A difference is a line "KERNELS | SITUATION | WHAT | STOCK | OURS": regular expressions that match all of
# it, but for the last two, which are answers; "*" is any answer. Where one is listed, ours may be either.
function cells(line, to,    i) {
	for (i = 1; i <= columns; i++) {
		match(line, /^[^ ]+ +/)
		to[i] = substr(line, 1, RLENGTH)
		sub(/ +$/, "", to[i])
		line = substr(line, RLENGTH + 1)
	}
	return line
}

function is_meant(c, what, stock, ours,    i) {
	for (i = 1; i <= meant; i++) {
		split(difference[i], part, / *\| */)
		if (kernel ~ "^(" part[1] ")$" && title[c] ~ "^(" part[2] ")$" &&
		    what ~ "^(" part[3] ")$" && (part[4] == "*" || part[4] == stock) &&
		    (part[5] == "*" || part[5] == ours))
			return 1
	}
	return 0
}

FILENAME == ARGV[1] {
	if (!/^(#|$)/)
		difference[++meant] = $0
	next
}
/^situation [0-9]+: / {
	text = $0
	sub(/^situation [0-9]+: /, "", text)
	if (FILENAME == ARGV[2])
		title[++columns] = text
	else if (text != title[$2 + 0]) {
		print "another situation: " text
		failed = 1
	}
	next
}
FILENAME == ARGV[2] { record[++records] = $0 }
FILENAME == ARGV[3] {
	line = record[++seen]
	stock_what = cells(line, stock)
	what = cells($0, ours)
	if (what != stock_what) {
		print "another question: " what ", not " stock_what
		exit failed = 1
	}
	for (c = 1; c <= columns; c++) {
		if (stock[c] == ours[c] || is_meant(c, what, stock[c], ours[c]))
			continue
		print title[c] ": " what ": stock " stock[c] ", ours " ours[c]
		failed = 1
	}
}
END {
	if (!failed && (!seen || seen != records)) {
		print "questions: " seen " of " records
		failed = 1
	}
	exit failed
}
