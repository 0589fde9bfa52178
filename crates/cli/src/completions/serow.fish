# Completion of serow for Fish; written by `serow completions fish`.
# Save it as ~/.config/fish/completions/serow.fish

function __serow_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    set -l program (string replace -r '^~/' "$HOME/" -- $words[1])
    set -l before ''
    set -l value $typed
    if string match -qr '^--[^=]*=' -- $typed
        set before (string replace -r '=.*' '=' -- $typed)
        set value (string replace -r '^[^=]*=' '' -- $typed)
    end
    for line in ($program __complete -- $words[2..-1] "$typed" 2>/dev/null)
        switch $line
            case ':files'
                string replace -r '^' -- "$before" (__fish_complete_path $value)
            case ':folders'
                string replace -r '^' -- "$before" (__fish_complete_directories $value)
            case ':programs'
                __fish_complete_command
                __fish_complete_path $value
            case ':hosts'
                __fish_print_hostnames
            case '*'
                echo $before$line
        end
    end
end

complete -c serow -f -a '(__serow_complete)'
