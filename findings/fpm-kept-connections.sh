#!/bin/bash
# nginx 1.22.1 in front of php-fpm 8.2 (Debian 12), with `fastcgi_keep_conn on`, `keepalive 1` and one child: two requests at
# once, of a script that takes 0.3 s.
#
# Expected before it was run: the child takes one request after the other, as without kept connections, so that both are
# answered within a second, and `keepalive` only saves the second connection.
#
# Seen: the second request is answered when `keepalive_timeout` of the upstream is over (3 s here, 60 s by default), although
# the child is idle since the first one: a child of php-fpm stays with a kept connection until nginx closes it, and nginx has
# opened another connection for the second request. Without `fastcgi_keep_conn`, both are answered within a second.
set -euo pipefail
if [ "${1-}" = --help ]; then
    echo "usage: findings/fpm-kept-connections.sh: two requests at once and one kept connection, in nginx and php-fpm; unpacks both in a temporary folder"
    exit
fi
folder=$(mktemp -d)
processes=()
trap 'kill "${processes[@]}" 2>/dev/null || true; wait; rm -rf "$folder"' EXIT
chmod 755 "$folder"
cd "$folder"
needed=$(apt-get install --simulate --reinstall --no-install-recommends nginx php8.2-fpm php8.2-common php8.2-opcache php8.2-cli |
    awk '/^Inst /{print $2}')
apt-get download -q=2 $needed >/dev/null 2>&1
for archive in *.deb; do dpkg-deb --extract "$archive" root; done
nginx=$folder/root/usr/sbin/nginx
fpm=$folder/root/usr/sbin/php-fpm8.2
"$nginx" -v 2>&1 | grep -q nginx/1.22.1
"$fpm" -n -v | grep -q '^PHP 8.2'
mkdir site
echo '<?php usleep(300000); echo "done";' >site/index.php
cat >fpm.conf <<CONF
[global]
error_log = $folder/fpm.log
daemonize = no
[site]
listen = $folder/fpm.sock
pm = static
pm.max_children = 1
CONF
"$fpm" -n -R -F -y fpm.conf 2>/dev/null &
processes+=($!)

# How many of two requests at once are answered within a second, and whether both are within ten.
answers() {
    cat >nginx.conf <<CONF
daemon off; error_log $folder/nginx.log; pid $folder/nginx.pid; user root root; worker_processes 1;
events { worker_connections 64; }
http {
    access_log off;
    client_body_temp_path $folder/t1; proxy_temp_path $folder/t2; fastcgi_temp_path $folder/t3; uwsgi_temp_path $folder/t4; scgi_temp_path $folder/t5;
    upstream php { server unix:$folder/fpm.sock; keepalive 1; keepalive_timeout 3s; }
    server {
        listen unix:$folder/nginx.sock;
        location / {
            fastcgi_pass php;
            fastcgi_keep_conn $1;
            fastcgi_param REQUEST_METHOD GET;
            fastcgi_param SCRIPT_FILENAME $folder/site/index.php;
        }
    }
}
CONF
    rm -f nginx.sock
    "$nginx" -p "$folder" -c "$folder/nginx.conf" 2>/dev/null &
    processes+=($!)
    until [ -S nginx.sock ] && [ -S fpm.sock ]; do sleep 0.1; done
    for number in 1 2; do
        curl -s -m 10 -o "body$number" -w '%{http_code} %{time_total}\n' --unix-socket nginx.sock http://localhost/ >"said$number" &
        clients[number]=$!
    done
    wait "${clients[@]}"
    kill "${processes[-1]}"
    wait "${processes[-1]}" 2>/dev/null || true
    cat said1 said2 | awk -v mode="$1" '$1 == 200 {all++} $1 == 200 && $2 < 1.5 {soon++} END {print "fastcgi_keep_conn " mode ": " soon + 0 " of 2 soon, " all + 0 " in the end"}'
}
seen=$(answers off; answers on)
echo "$seen"
expected='fastcgi_keep_conn off: 2 of 2 soon, 2 in the end
fastcgi_keep_conn on: 1 of 2 soon, 2 in the end'
[ "$seen" = "$expected" ] || { echo "expected:
$expected" >&2; exit 1; }
