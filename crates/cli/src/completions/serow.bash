# Completion of serow for Bash 4.4 and newer; written by `serow completions bash`.
# Save it as serow in ~/.local/share/bash-completion/completions/, or: source <(serow completions bash)

_serow() {
    local program=$1 typed kind="" entry folder line
    local -a words
    # Bash divides words at = and :, Serow does not. Without -r, a backslash joins words as it does for the shell.
    # shellcheck disable=SC2162
    read -a words <<<"${COMP_LINE:0:COMP_POINT}"
    [[ ${COMP_LINE:COMP_POINT-1:1} != [[:space:]] || ${COMP_LINE:COMP_POINT-2:1} == \\ ]] || words+=("")
    typed=${words[-1]}
    program=${program/#\~\//$HOME/}
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
            :*) kind=${line#:} ;;
            *) COMPREPLY+=("${line%%$'\t'*}") ;;
        esac
    done < <("$program" __complete -- "${words[@]:1}" 2>/dev/null)

    [[ $typed != --*=* ]] || typed=${typed#*=}
    case $kind in
        "") ;;
        folders)
            if ((${#COMPREPLY[@]} == 0)); then
                compopt -o filenames -o plusdirs
                return
            fi
            # Only the folders get a slash, even where one has the name of a command.
            compopt -o nospace
            COMPREPLY=("${COMPREPLY[@]/%/ }")
            while IFS= read -r folder; do
                printf -v entry %q "$folder"
                COMPREPLY+=("$entry/")
            done < <(compgen -d -- "$typed")
            return
            ;;
        files)
            compopt -o filenames
            mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$typed")
            ;;
        programs)
            compopt -o filenames
            mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -c -- "$typed"; compgen -f -- "$typed")
            ;;
        hosts) mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -A hostname -- "$typed") ;;
    esac
    # Bash replaces only what follows the last = or : of the word.
    local divided=""
    [[ $COMP_WORDBREAKS != *:* || $typed != *:* ]] || divided=${typed%"${typed##*:}"}
    [[ -z $divided ]] || COMPREPLY=("${COMPREPLY[@]#"$divided"}")
}

complete -F _serow serow
