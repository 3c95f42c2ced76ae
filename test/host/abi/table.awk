# SPDX-License-Identifier: GPL-2.0-only
#
# What vhost-abi prints, "situation: what: answer", as a table: a line for each what, a column
# for each situation; "-" where it is not asked. What is asked again gets a number.
{
	at = index($0, ": ")
	situation = substr($0, 1, at - 1)
	rest = substr($0, at + 2)
	match(rest, /: [^:]*$/)
	what = substr(rest, 1, RSTART - 1)
	times = ++asked[situation, what]
	if (times > 1)
		what = what " (" times ")"
	if (!(what in row)) {
		row[what] = ++rows
		name[rows] = what
	}
	if (!(situation in column)) {
		column[situation] = ++columns
		title[columns] = situation
	}
	answer[row[what], column[situation]] = substr(rest, RSTART + 2)
}

END {
	for (c = 1; c <= columns; c++)
		print "situation", c ":", title[c]
	for (r = 1; r <= rows; r++) {
		for (c = 1; c <= columns; c++)
			printf "%-7s ", (r, c) in answer ? answer[r, c] : "-"
		print name[r]
	}
}
