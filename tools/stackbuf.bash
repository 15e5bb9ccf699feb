# SPDX-License-Identifier: GPL-2.0
# Completion of stackbuf's command line for bash, by the command's own help.  shellcheck shell=bash

_stackbuf()
{
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command='' help commands values i value=''

	# readline takes a "=" for a word of its own
	if [[ $word == '=' ]]; then
		word=''
	elif [[ $before == '=' ]]; then
		before=${COMP_WORDS[COMP_CWORD-2]}
	fi
	help=$("${COMP_WORDS[0]}" --help 2>/dev/null)
	commands=$(sed -n '1,/^Commands:/d; s/^  \([a-z]*\).*/\1/p' <<<"$help" | awk '!seen[$0]++')
	# Words with a value: "--comm log" is no command
	values=$(sed -n 's/^  *\(-.\), \(--[a-z-]*\)=.*/\1\n\2/p; s/^  *\(--[a-z-]*\)=.*/\1/p' <<<"$help")
	for ((i = 1; i < COMP_CWORD; i++)); do
		[[ $'\n'$values$'\n' != *$'\n'"${COMP_WORDS[i]}"$'\n'* ]] || { i=$((i + 1)); [[ ${COMP_WORDS[i]} != '=' ]] || i=$((i + 1)); continue; }
		[[ $'\n'$commands$'\n' != *$'\n'"${COMP_WORDS[i]}"$'\n'* ]] || { command=${COMP_WORDS[i]}; break; }
	done
	[[ -z $command ]] || help=$("${COMP_WORDS[0]}" "$command" -h 2>/dev/null)

	COMPREPLY=()
	# "  -f, --file=SOURCE   text": what follows the "=" of this option, or how the command is used
	if [[ $before == -* ]]; then
		value=$(sed -n 's/^  *\(-., \)\?\(--[a-z-]*\)=\([^ ]*\).*/\1 \2 \3/p' <<<"$help" |
			awk -v o="$before" '$1 == o "," || $(NF - 1) == o { print $(NF - 1) "=" $NF }')
	fi
	if [[ -z $value && $word != -* && -n $command ]]; then
		value=$(sed -n 's/^Usage: .*\[OPTION\.\.\.\]//p' <<<"$help")
	fi
	case $value in
	*=DIR)
		mapfile -t COMPREPLY < <(compgen -d -- "$word")
		compopt -o filenames 2>/dev/null ;;
	*SOURCE | *FILE* | *BEFORE*)
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		compopt -o filenames 2>/dev/null ;;
	--comm=*)
		mapfile -t COMPREPLY < <(compgen -W "$(cat /proc/[0-9]*/comm 2>/dev/null)" -- "$word") ;;
	--pid=*)
		mapfile -t COMPREPLY < <(compgen -W "$(cd /proc && echo [0-9]*)" -- "$word") ;;
	*FUNCTION* | *PATTERN*)
		# Thousands: not before there is something to choose by
		[[ ${#word} -lt 2 ]] || mapfile -t COMPREPLY < <(awk -v word="$word" 'index($1, word) == 1 { print $1 }' \
			/sys/kernel/tracing/available_filter_functions 2>/dev/null | sort -u) ;;
	'')
		if [[ $word == -* ]]; then
			mapfile -t COMPREPLY < <(compgen -W "--version $(grep -o '^  *\(-., \)\?--[a-z-]*' <<<"$help" |
				grep -o -- '--[a-z-]*')" -- "$word" | awk '!seen[$0]++')
		elif [[ -z $command ]]; then
			mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$word")
		fi ;;
	esac
}

complete -F _stackbuf stackbuf
