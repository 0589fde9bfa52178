//! What the fields of the status mean. Names and meanings stay as they are; new ones may come.

/// For the help of `serow status`, and with it for the manual. The names are those of the JSON, a dot for each level.
pub const FIELDS: &str = "\
The fields of the JSON; all count since the server began, where nothing else is said:
  version                            the version of Serow
  started                            when it began to listen, in seconds since 1970
  uptime_seconds                     how long ago that was
  workers                            how many threads serve
  sandbox                            what restricts the server to the files that it needs, as in landlock ABI 7; or off: and why
  connections.accepted               connections that were accepted
  connections.open                   open just now, tunnels included
  connections.open_http1             open just now and speaking HTTP/1
  connections.open_http2             open just now and speaking HTTP/2
  connections.plain                  accepted where there is no TLS
  connections.tls                    accepted where there is TLS
  connections.http1                  that turned out to speak HTTP/1
  connections.http2                  that turned out to speak HTTP/2
  connections.handshakes_failed      closed since no TLS could be agreed upon, or not in time
  connections.refused                closed since the header of the PROXY protocol was missing or malformed
  requests.total                     requests, malformed ones included
  requests.http1                     over HTTP/1.0 and 1.1
  requests.http2                     over HTTP/2
  requests.in_progress               not answered to the end yet, just now
  requests.status_1xx                answered with 101: tunnels
  requests.status_2xx                answered with a status 200 to 299
  requests.status_3xx                answered with a status 300 to 399
  requests.status_4xx                answered with a status 400 to 498
  requests.status_5xx                answered with a status 500 to 599, or cut off by a fault of the server
  requests.status_499                not answered, since the client left before
  requests.status_other              answered with another status
  requests.body_bytes_received       bytes of requests' bodies
  requests.body_bytes_sent           bytes of responses' bodies
  http2.streams_opened               streams that clients opened
  http2.streams_active               open just now
  http2.streams_reset_by_peer        cut off by clients
  http2.streams_reset_by_us          cut off by the server, those refused included
  http2.streams_refused              refused, since the client had as many as it may
  http2.connection_errors.protocol_error
                                     connections that the server ended for PROTOCOL_ERROR (RFC 9113, section 7)
  http2.connection_errors.internal_error
                                     … for INTERNAL_ERROR, and so on
  http2.connection_errors.flow_control_error
  http2.connection_errors.settings_timeout
  http2.connection_errors.stream_closed
  http2.connection_errors.frame_size_error
  http2.connection_errors.refused_stream
  http2.connection_errors.cancel
  http2.connection_errors.compression_error
  http2.connection_errors.connect_error
  http2.connection_errors.enhance_your_calm
  http2.connection_errors.inadequate_security
  http2.connection_errors.http_1_1_required
  http2.connection_errors.other
                                     … for a code that the RFC does not know
  pacing.connections_waiting         HTTP/2 connections that have more to send than goes out, just now
  pacing.queue_delay.count           bytes of HTTP/2 whose wait in a socket was measured: where they wait at all
  pacing.queue_delay.p50_us          what half of them waited at most, in microseconds; null without any
  pacing.queue_delay.p90_us          what 90 % of them waited at most
  pacing.queue_delay.p99_us          what 99 % of them waited at most
  pacing.queue_delay.max_us          the longest wait
  pacing.queue_delay.buckets[].up_to_us
                                     a class of waits: the longest that belongs to it
  pacing.queue_delay.buckets[].count
                                     bytes in that class; classes without any are left out
  access_log.lines                   lines of the access log that were written, or handed to whoever reads them
  access_log.lost                    lines that were not, since that failed or was too slow
  applications[].name                the applications in Ruby, Perl and Python
  applications[].wanted              how many workers each is to have
  applications[].workers             how many it has that take requests
  applications[].busy                how many of them have one just now
  applications[].waiting             requests that wait until a worker has room
  applications[].requests            requests that asked for a worker
  applications[].replaced            workers that gave way to others, for their age or memory, or since they wished to
  applications[].deaths              workers that ended unasked, and those that took too long for a request
  upstreams[].name                   the upstreams: groups of servers that are asked
  upstreams[].generation             counts the changes of its servers and of what is wanted of them, from 1
  upstreams[].waiting                requests that wait until a server has room
  upstreams[].servers[].name         its servers: where each is
  upstreams[].servers[].id           how session cookies call it, where that was said; else null
  upstreams[].servers[].state        up; down, for those who run it or for its checks; draining; ejected, since requests to it
                                     failed; or starting, before its first good checks
  upstreams[].servers[].state_seconds
                                     for how long it has been so
  upstreams[].servers[].weight       its share among the others
  upstreams[].servers[].backup       whether it is asked only where no other can be
  upstreams[].servers[].active       requests that it has just now
  upstreams[].servers[].max          how many it gets at a time; null: any number
  upstreams[].servers[].requests     attempts, those that failed included
  upstreams[].servers[].failures     attempts that failed, or were answered with 502, 503 or 504
  upstreams[].servers[].retries      requests that went to another server, or there once more
  upstreams[].servers[].cut          responses that were cut off
  upstreams[].servers[].unsolicited  connections closed because the server sent bytes that no request asked for
  upstreams[].servers[].connections  connections that were opened
  upstreams[].servers[].latency_us   how long responses take to begin, on average, in microseconds; 0 where nothing is known
  upstreams[].servers[].check.kind   tcp, http or grpc; where there are no checks, check is null
  upstreams[].servers[].check.port   the port that was set for checks; null where none was
  upstreams[].servers[].check.up     whether they found it good
  upstreams[].servers[].check.rise   good ones since the last bad one
  upstreams[].servers[].check.fall   bad ones since the last good one
  upstreams[].servers[].last_failure
                                     why the last check failed that did, or why it is left alone; null: nothing is known
Of 'serow run', where the numbers above are those of all generations together, also:
  generations[].number               the generations that there are: the first is 1
  generations[].process              its process id
  generations[].stage                starting, serving or leaving
  generations[].answers              whether it answered just now; otherwise it hangs, and its numbers are older
  generations[].uptime_seconds       for how long it has listened
  generations[].connections_open     its open connections
  generations[].requests_in_progress
                                     its requests that are not answered to the end yet
  reloads.done                       reloads after which another generation served
  reloads.failed                     reloads after which all was as before
  reloads.crashes                    generations that ended without being told to
  reloads.last_failure               what was wrong the last time that one could not start; null after one that could
  remembered[].upstream              what was said with --persist, and is said to later generations: of a server of this one
  remembered[].server                the server
  remembered[].action                up, down, drain, weight, add or remove
  remembered[].weight                the weight, with that
  remembered[].persist               true";
