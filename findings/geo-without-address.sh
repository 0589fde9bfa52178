#!/bin/bash
# nginx 1.22.1 (Debian 12): a `geo` of a variable whose text is no address.
#
# Expected before it was run: the text "unknown", and no text at all, have the default, as a `map` gives it for other values; the
# text 010.1.2.3 is no address either, since POSIX's inet_aton reads it as octal (8.1.2.3) and inet_pton refuses it.
#
# Seen: a text without an address, also an empty one, is looked up as 255.255.255.255. The default is only the value of 0.0.0.0/0, so an
# entry for a network up to 255.255.255.255, as people write to cover the last block of a list, takes all requests whose field is
# missing or says "unknown". Numbers with zeros before them are decimal: 010.1.2.3 is in 10.0.0.0/8. (In the source: ngx_http_geo_addr
# sets INADDR_NONE where ngx_parse_addr fails.)
set -euo pipefail
if [ "${1-}" = --help ]; then
    echo "usage: findings/geo-without-address.sh: texts without an address in a geo of nginx; unpacks it in a temporary folder"
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
    geo \$http_x_client \$zone { default other; 10.0.0.0/8 office; 240.0.0.0/4 reserved; }
    server { listen unix:$folder/nginx.sock; location / { return 200 "\$zone"; } }
}
CONF
"$nginx" -p "$folder" -c "$folder/nginx.conf" 2>/dev/null &
process=$!
until [ -S nginx.sock ]; do sleep 0.1; done
ask() { curl -s -m 10 "$@" --unix-socket nginx.sock http://localhost/; }
found="10.1.2.3: $(ask -H 'X-Client: 10.1.2.3'), 192.0.2.1: $(ask -H 'X-Client: 192.0.2.1'), no field: $(ask)"
found="$found, unknown: $(ask -H 'X-Client: unknown'), 010.1.2.3: $(ask -H 'X-Client: 010.1.2.3')"
echo "$found"
[ "$found" = "10.1.2.3: office, 192.0.2.1: other, no field: reserved, unknown: reserved, 010.1.2.3: office" ]
