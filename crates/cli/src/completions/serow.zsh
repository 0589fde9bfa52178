#compdef serow
# Completion of serow for Zsh; written by `serow completions zsh`.
# Save it as _serow in a folder of $fpath, or, after compinit: source <(serow completions zsh)

_serow() {
    local line kind
    local -a described arguments
    arguments=("${(@Q)words[2,CURRENT]}")
    # The part of the last word behind the cursor is completed as well, so it does not count.
    arguments[-1]=$PREFIX
    for line in "${(@f)$(_call_program serow ${(q)${(Q)words[1]}} __complete -- ${(qq)arguments} 2>/dev/null)}"; do
        case $line in
            :*) kind=${line#:} ;;
            ?*) described+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
        esac
    done
    compset -P '--*='
    local found=1
    if (( $#described )); then
        if [[ $PREFIX == -* ]]; then
            _describe -o 'option' described && found=0
        else
            _describe 'word' described && found=0
        fi
    fi
    case $kind in
        files) _files && found=0 ;;
        # _files would offer files where no folder matches.
        folders) _alternative 'directories:folder:_path_files -/' && found=0 ;;
        programs) { _command_names -e || _files } && found=0 ;;
        hosts) _hosts && found=0 ;;
    esac
    return found
}

if [[ $funcstack[1] == _serow ]]; then
    _serow "$@"
else
    compdef _serow serow
fi
