# SPDX-License-Identifier: GPL-2.0
# Completion of stackbuf's command line for bash.  shellcheck shell=bash

_stackbuf()
{
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command='' i options lines
	local commands='info text log report life count snoop depth save diff metrics decode'

	# readline takes a "=" for a word of its own
	if [[ $word == '=' ]]; then
		word=''
	elif [[ $before == '=' ]]; then
		before=${COMP_WORDS[COMP_CWORD-2]}
	fi
	for ((i = 1; i < COMP_CWORD; i++)); do
		if [[ " $commands " == *" ${COMP_WORDS[i]} "* ]]; then
			command=${COMP_WORDS[i]}
		fi
	done

	COMPREPLY=()
	case $before in
	-f | --file)
		# After "count" it is --folded
		[[ $before == -f && $command == count ]] || {
			mapfile -t COMPREPLY < <(compgen -f -- "$word")
			compopt -o filenames 2>/dev/null
			return
		} ;;
	--flame | -k | --vmlinux | -o | --output)
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		compopt -o filenames 2>/dev/null
		return ;;
	-m | --modules)
		mapfile -t COMPREPLY < <(compgen -d -- "$word")
		compopt -o filenames 2>/dev/null
		return ;;
	--comm)
		mapfile -t COMPREPLY < <(compgen -W "$(cat /proc/[0-9]*/comm 2>/dev/null)" -- "$word")
		return ;;
	-p | --pid)
		mapfile -t COMPREPLY < <(compgen -W "$(cd /proc && echo [0-9]*)" -- "$word")
		return ;;
	-c | --cpu | --instance | --tag | --since | --until | --around | --stack | --last | -n | --number | \
	-i | --interval | -D | --duration | --top | --prefix)
		return ;;
	esac

	options='--file --scan --instance --help --version'
	lines='--lines --vmlinux --modules --force'
	case $command in
	info)	options+=' --json --vmlinux --force' ;;
	depth)	options+=' --json' ;;
	text)	options+=" --stack $lines" ;;
	log)	options+=' --pid --comm --cpu --tag --since --until --around --stack --last'
		options+=" --folded --json --perf --pprof --flame --wall --follow $lines" ;;
	report)	options+=" --pid --comm --cpu --tag --since --until --around --stack --last $lines" ;;
	life)	options+=" --pid --comm --cpu --since --until --around --last --json --wall $lines" ;;
	count)	options+=' --pid --comm --cpu --tag --since --until --around --stack --last'
		options+=" --top --percent --folded --prefix --json --pprof --flame $lines"
		options+=' --interval --duration --timestamp --regexp --offset --perpid --verbose --list' ;;
	snoop)	options+=' --pid --comm --cpu --tag --since --until --around --stack --last'
		options+=" --folded --json --perf --pprof --flame --wall $lines"
		options+=' --number --duration --offset --verbose' ;;
	save)	;;
	diff)	options='--scan --top --percent --folded --json --pprof --flame --help --version' ;;
	metrics) options+=' --top --output' ;;
	decode)	options='--help --version --vmlinux --modules --force --compat' ;;
	*)	options+=" --pid --comm --cpu --tag --since --until --around --stack --last --output"
		options+=" --top --percent --folded --json --perf --pprof --flame --wall --follow $lines --compat" ;;
	esac
	if [[ $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
	elif [[ -z $command ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$word")
	elif [[ $command == snoop || $command == count ]]; then
		# Thousands: not before there is something to choose by
		[[ ${#word} -lt 2 ]] || mapfile -t COMPREPLY < <(awk -v word="$word" 'index($1, word) == 1 { print $1 }' \
			/sys/kernel/tracing/available_filter_functions 2>/dev/null | sort -u)
	elif [[ $command == save || $command == report || $command == diff || $command == decode ]]; then
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		compopt -o filenames 2>/dev/null
	fi
}

complete -F _stackbuf stackbuf
