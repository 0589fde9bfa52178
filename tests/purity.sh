#!/bin/bash
# Proves that the protocol crates are pure: no socket, clock or thread can slip into what has no standard library and
# depends on nothing that does I/O. Needs a stable toolchain only.
set -euo pipefail
case ${1-} in
--help | -h)
    echo "usage: tests/purity.sh"
    echo
    sed -n '2,3s/^# //p' "$0"
    exit
    ;;
esac
cd "$(dirname "$0")/.."

# Dependencies that a pure crate may have: buffers, the types of `http`, a short list, and our types without the feature
# `std`.
allowed=" bytes http itoa smallvec serow-message serow-streams "
pure=(serow-http1 serow-streams serow-http2 serow-http3 serow-pacing serow-fastcgi)

fail() {
    echo "purity: $*" >&2
    exit 1
}

for crate in "${pure[@]}"; do
    folder=crates/${crate#serow-}
    for rule in '#![no_std]' '#![forbid(unsafe_code)]'; do
        grep -qxF "$rule" "$folder/src/lib.rs" || fail "$crate does not say $rule"
    done
    # Tests may use the standard library; they stand at the end of a file.
    while IFS= read -r file; do
        if sed '/#\[cfg(test)\]/,$d' "$file" | grep -nE '^[^/]*(extern crate std|\bstd::)'; then
            fail "$file uses the standard library"
        fi
    done < <(find "$folder/src" -name '*.rs' -not -name 'tests.rs')

    tree=$(cargo tree -q -p "$crate" -e normal --prefix none --no-dedupe -f '{p}|{f}' | sort -u)
    while IFS='|' read -r package features; do
        name=${package%% *}
        [ "$name" = "$crate" ] && continue
        [[ $allowed == *" $name "* ]] || fail "$crate depends on $name"
        if [ "$name" = serow-message ] && [[ ,$features, == *,std,* || ,$features, == *,default,* ]]; then
            fail "$crate builds serow-message with the features $features"
        fi
    done <<<"$tree"

    # By itself, so that no other crate of the workspace adds the feature `std` to serow-message.
    cargo check -q --profile checked -p "$crate" || fail "$crate does not build by itself"
    for target in wasm32-unknown-unknown; do
        if rustup target list --installed 2>/dev/null | grep -qx "$target"; then
            cargo build -q -p "$crate" --target "$target" || fail "$crate does not build for $target"
        fi
    done
    echo "purity: $crate is pure ($(wc -l <<<"$tree") packages)"
done
