#!/bin/bash
# nginx 1.22.1 (Debian 12): a `map` whose source is empty, with expressions that match an empty text.
#
# Expected before it was run: `"~.*" matched` and `"~^$" matched` match a request without the field, as `if ($http_x_a ~ .*)` and
# `if ($http_x_a ~ ^$)` do in the same server.
#
# Seen: the map takes its default, since nginx tries no expression of a map on an empty value; only the key "" matches it. The two
# conditions of `if` hold. Configurations such as `map $http_x_real_ip $client { "~.*" $http_x_real_ip; default $remote_addr; }`
# rely on that. (In the source: ngx_http_map_find tries expressions only if the length of the value is not 0.)
set -euo pipefail
if [ "${1-}" = --help ]; then
    echo "usage: findings/map-expression-empty.sh: expressions of maps on an empty value in nginx; unpacks it in a temporary folder"
    exit
fi
folder=$(mktemp -d)
trap 'kill "${process-}" 2>/dev/null || true; wait; rm -rf "$folder"' EXIT
cd "$folder"
needed=$(apt-get install --simulate --reinstall --no-install-recommends nginx | awk '/^Inst /{print $2}')
apt-get download -q=2 $needed >/dev/null 2>&1
for archive in *.deb; do dpkg-deb --extract "$archive" root; done
nginx=$folder/root/usr/sbin/nginx
"$nginx" -v 2>&1 | grep -q nginx/1.22.1
cat >nginx.conf <<CONF
daemon off; error_log $folder/nginx.log; pid $folder/nginx.pid; worker_processes 1;
events { worker_connections 64; }
http {
    access_log off;
    client_body_temp_path $folder/t1; proxy_temp_path $folder/t2; fastcgi_temp_path $folder/t3; uwsgi_temp_path $folder/t4; scgi_temp_path $folder/t5;
    map \$http_x_a \$any { "~.*" matched; default default; }
    map \$http_x_a \$none { "~^\$" matched; default default; }
    map \$http_x_a \$key { "" matched; default default; }
    server {
        listen unix:$folder/nginx.sock;
        set \$if_any default;
        set \$if_none default;
        if (\$http_x_a ~ .*) { set \$if_any matched; }
        if (\$http_x_a ~ ^\$) { set \$if_none matched; }
        location / { return 200 "~.* \$any, ~^ \$none, \"\" \$key; if ~.* \$if_any, if ~^ \$if_none"; }
    }
}
CONF
"$nginx" -p "$folder" -c "$folder/nginx.conf" 2>/dev/null &
process=$!
until [ -S nginx.sock ]; do sleep 0.1; done
without=$(curl -s -m 10 --unix-socket nginx.sock http://localhost/)
with=$(curl -s -m 10 -H 'X-A: 1' --unix-socket nginx.sock http://localhost/)
echo "without the field: $without"
echo "with the field:    $with"
[ "$without" = '~.* default, ~^ default, "" matched; if ~.* matched, if ~^ matched' ]
[ "$with" = '~.* matched, ~^ default, "" default; if ~.* matched, if ~^ default' ]
