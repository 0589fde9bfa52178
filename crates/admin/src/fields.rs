//! The fields of the status. Names and meanings are stable; fields may be added.

/// For the help of `serow status`, and with it for the manual. The names are those of the JSON, a dot for each level.
pub const FIELDS: &str = "\
The fields of the JSON; counters start with the server, unless noted otherwise:
  version                            the version of Serow
  started                            when it began to listen, in seconds since 1970
  uptime_seconds                     seconds since then
  workers                            worker threads
  sandbox                            what restricts it to the files that it needs, as in landlock ABI 7; or off: and the reason
  maintenance                        whether clients receive 503 because of 'serow maintenance on'
  connections.accepted               connections that were accepted
  connections.open                   open now, tunnels included
  connections.open_http1             open now with HTTP/1
  connections.open_http2             open now with HTTP/2
  connections.open_http3             open now with HTTP/3
  connections.plain                  accepted without TLS
  connections.tls                    accepted with TLS, over TCP
  connections.quic                   accepted over QUIC
  connections.http1                  that spoke HTTP/1
  connections.http2                  that spoke HTTP/2
  connections.http3                  that spoke HTTP/3
  connections.handshakes_failed      closed because the TLS handshake failed or timed out
  connections.refused                closed because the PROXY header was missing or malformed
  connections.refused_banned         closed because the client was banned
  connections.refused_per_client     closed because the client had as many as max-connections-per-client
  requests.total                     requests, malformed ones included
  requests.http1                     over HTTP/1.0 and 1.1
  requests.http2                     over HTTP/2
  requests.http3                     over HTTP/3
  requests.in_progress               in flight now
  requests.status_1xx                answered with 101: tunnels
  requests.status_2xx                answered with a status 200 to 299
  requests.status_3xx                answered with a status 300 to 399
  requests.status_4xx                answered with a status 400 to 498
  requests.status_5xx                answered with a status 500 to 599, or cut off by an error of the server
  requests.status_499                the client closed the connection before the response
  requests.status_other              answered with another status
  requests.body_bytes_received       bytes of request bodies
  requests.body_bytes_sent           bytes of response bodies
  http2.streams_opened               streams that clients opened
  http2.streams_active               open now
  http2.streams_reset_by_peer        reset by clients
  http2.streams_reset_by_us          reset by the server, refused ones included
  http2.streams_refused              refused because the client had reached its limit
  http2.connection_errors.protocol_error
                                     connections that the server closed with PROTOCOL_ERROR (RFC 9113, section 7)
  http2.connection_errors.internal_error
                                     … with INTERNAL_ERROR, and so on
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
                                     … with a code that is not in the RFC
  http3.streams_opened               the same for HTTP/3
  http3.streams_active               open now
  http3.streams_reset_by_peer        reset by clients
  http3.streams_reset_by_us          reset by the server, refused ones included
  http3.streams_refused              refused because the client had reached its limit
  http3.connection_errors.h3_general_protocol_error
                                     connections that the server closed with this code (RFC 9114, section 8.1)
  http3.connection_errors.h3_internal_error
  http3.connection_errors.h3_stream_creation_error
  http3.connection_errors.h3_closed_critical_stream
  http3.connection_errors.h3_frame_unexpected
  http3.connection_errors.h3_frame_error
  http3.connection_errors.h3_excessive_load
  http3.connection_errors.h3_id_error
  http3.connection_errors.h3_settings_error
  http3.connection_errors.h3_missing_settings
  http3.connection_errors.h3_request_rejected
  http3.connection_errors.h3_request_cancelled
  http3.connection_errors.h3_request_incomplete
  http3.connection_errors.h3_message_error
  http3.connection_errors.h3_connect_error
  http3.connection_errors.h3_version_fallback
  http3.connection_errors.qpack_decompression_failed
  http3.connection_errors.qpack_encoder_stream_error
  http3.connection_errors.qpack_decoder_stream_error
  http3.connection_errors.other
                                     … with a code that is not in the RFCs
  pacing.connections_waiting         HTTP/2 connections with more to send than the network takes now
  pacing.queue_delay.count           bytes of HTTP/2 whose queue delay in a socket was measured
  pacing.queue_delay.p50_us          median queue delay in microseconds; null without measurements
  pacing.queue_delay.p90_us          90th percentile
  pacing.queue_delay.p99_us          99th percentile
  pacing.queue_delay.max_us          maximum
  pacing.queue_delay.buckets[].up_to_us
                                     a bucket of the histogram: its upper bound
  pacing.queue_delay.buckets[].count
                                     bytes in that bucket; empty buckets are omitted
  access_log.lines                   lines of the access log that were written
  access_log.waiting                 lines in memory that wait to be written: the disk is full, or a pipe or collector is slow
  access_log.lost                    lines that were lost, because writing failed or was too slow
  routes[].name                      the routes with app, files or proxy, if route-metrics is true: site and path; the last
                                     is for all other responses
  routes[].site                      first host of the site; * for a site without hosts
  routes[].path                      path of the route
  routes[].requests                  their requests
  routes[].sum_us                    how long these took together, in microseconds
  routes[].buckets[].up_to_us        a bucket of the histogram of durations: its upper bound
  routes[].buckets[].count           requests in that bucket
  limits[].name                      the rate limits
  limits[].dry_run                   whether the limit only counts
  limits[].allowed                   requests that were served at once
  limits[].delayed                   requests that waited
  limits[].refused                   requests that were refused; in a dry run, that would have been
  limits[].displaced                 keys that were forgotten, since there were too many
  access.addresses_refused           requests refused by allow or deny
  access.requests_refused_per_client
                                     requests refused by max-requests-per-client
  access.passwords_right             passwords that were checked and right; remembered ones are not checked
  access.passwords_wrong             passwords that were wrong, or of unknown users
  access.passwords_refused_per_client
                                     passwords not checked, since many of their client waited
  access.passwords_refused_busy      passwords not checked, since many of all clients waited
  bans.banned                        clients that are banned now
  bans.added.limit                   bans by limits
  bans.added.administrator           bans by 'serow ban add'
  bans.added.fleet                   bans by other servers
  bans.displaced                     bans that ended early, since there were too many
  bans.refused_requests              requests of banned clients that were refused with 403
  bans.list[].client                 the bans, those that end last first, at most 10,000: address, or the /64 of IPv6
  bans.list[].remaining_seconds      seconds until it ends
  bans.list[].origin                 limit, administrator or fleet
  bans.list[].reason                 why
  applications[].name                the applications in Ruby, Perl and Python
  applications[].wanted              configured number of workers
  applications[].workers             workers that take requests now
  applications[].busy                workers with a request now
  applications[].waiting             requests in the queue for a worker
  applications[].requests            requests that needed a worker
  applications[].replaced            workers that were replaced, for their age or memory, or at their own request
  applications[].deaths              workers that crashed or exited, and those that exceeded the timeout of a request
  applications[].queue_times[].up_to_us
                                     the longest wait for a worker in this class
  applications[].queue_times[].count requests in it, which a worker has finished; empty classes are not listed
  applications[].work_times[].up_to_us
                                     the longest time in this class for which a worker had a request
  applications[].work_times[].count  requests in it
  applications[].running[].worker    number of the worker of a request under way; 100 requests at most, oldest first
  applications[].running[].pid       its process
  applications[].running[].took_us   how long it has had the request
  applications[].running[].method    method of the request
  applications[].running[].path      path of the request, without the query
  mirrors[].name                     copies of requests (mirror): the site and the path of the route
  mirrors[].upstream                 the upstream that receives them
  mirrors[].sent                     copies that the upstream responded to
  mirrors[].dropped                  copies left out: the body was too long or incomplete, or too many were in flight
  mirrors[].failed                   copies that the upstream did not respond to
  cache.hits                         requests that got a fresh stored response; cache is null without a cache
  cache.stale_hits                   requests that got a stale one, while it was validated or in place of an error
  cache.revalidated                  requests that got a stored response after the origin had confirmed it (304)
  cache.collapsed                    requests that waited for another one, and got the same response
  cache.misses                       requests that got the response of the origin
  cache.bypassed                     requests that passed the cache by, for their method or another reason
  cache.stored                       responses that were stored
  cache.not_stored                   responses that were received for the cache and not stored
  cache.purges                       purges, by commands and by the method PURGE
  cache.evictions                    URLs that were displaced, since the memory was full
  cache.responses                    stored responses now; those of one URL count once
  cache.bytes                        bytes that they take
  cache.memory                       bytes that they may take
  cache.tags                         tags that they have, and those that were purged lately
  cache.disk_bytes                   bytes that files of stored responses take; 0 without a folder, as all of these
  cache.disk_limit                   bytes that they may take
  cache.disk_found                   files that were read since memory had no response
  cache.disk_written                 files that were written
  cache.disk_dropped                 responses that were not written, since the disk was full or slow
  cache.disk_evictions               files that were removed to make room
  certificates[].names               the automatic certificates (ACME): their names, with commas between them
  certificates[].issuer              who issued it; null until there is one
  certificates[].expires             until when it is valid, in seconds since 1970
  certificates[].next_order          when the next one is ordered, in seconds since 1970
  certificates[].failures            orders that have failed since the last one that did not
  certificates[].last_error          why the last of them failed
  certificates[].last_order_end      when the last order of this generation ended, in milliseconds since 1970
  certificates[].last_order_failed   whether that order failed
  certificates[].on_demand           whether a client's request has caused it (acme-on-demand)
  containers.api                     the API of containers; containers is null without [docker]
  containers.connected               whether its events arrive
  containers.servers                 addresses of running containers that have routes
  containers.hosts                   hosts of containers
  containers.routes                  routes to running containers
  containers.changes                 changes of the settings for containers
  containers.errors                  errors of the API, and connections that were lost
  containers.last_error              the last of them, until the next connection
  containers.refused[]               labels and hosts of containers that are refused, and why: the first 50
  fleet.redis                        the Redis through which limits are shared; fleet is null without [redis]
  fleet.connected                    whether there is a connection
  fleet.lag_us                       how old the last exchange is, in microseconds; null if there was none
  fleet.round_trip_us                how long Redis took to answer it
  fleet.instances                    servers that share the limits, this one included
  fleet.share                        the part of each limit that this server grants: 1 in contact with the others
  fleet.exchanges                    exchanges that succeeded
  fleet.errors                       exchanges and connections that failed
  fleet.last_error                   why the last of them failed
  fleet.events_published             events, such as bans, that this server told the others
  fleet.events_received              events of the others
  fleet.events_lost                  events that were forgotten, since too many waited for Redis, or were invalid
  fleet.commands.kept                commands to the fleet that this server keeps; fleet.commands is null while it starts
  fleet.commands.behind              those that it has yet to execute
  fleet.commands.unsent              those that it has executed, and Redis does not have
  fleet.commands.refused             those that it has refused
  fleet.commands.last_refusal        the last of them, and why
  fleet.commands.invalid             those that were not taken: too many, or none
  fleet.commands.ahead               those that were not taken, since their time is more than an hour ahead
  fleet.commands.seconds_ahead       how far ahead the last of them is
  fleet.servers[].server             the servers of the fleet: their numbers
  fleet.servers[].age_ms             how long ago a server has told about itself, in milliseconds
  fleet.servers[].name               its `name` in [redis], or that of its machine
  fleet.servers[].version            its version of Serow
  fleet.servers[].requests_per_second  the requests to it
  fleet.servers[].commands           commands to the fleet that it keeps
  fleet.servers[].behind             those that it has yet to execute
  fleet.servers[].unsent             those that it has executed, and Redis did not have
  fleet.servers[].refused            those that it has refused
  fleet.servers[].last_refusal       the last of them, and why
  upstreams[].name                   the upstreams: groups of servers
  upstreams[].generation             number of changes of its servers and their overrides, from 1
  upstreams[].waiting                requests in the queue for a server
  upstreams[].servers[].name         its servers: their addresses
  upstreams[].servers[].id           its id in session cookies; null if it has none
  upstreams[].servers[].state        up; down, by a command or by its health checks; draining; ejected, because requests to
                                     it failed; or starting, before its first successful checks
  upstreams[].servers[].state_seconds
                                     seconds in this state
  upstreams[].servers[].weight       its weight among the servers
  upstreams[].servers[].backup       whether it is a backup, used only while no other server is available
  upstreams[].servers[].active       requests in flight
  upstreams[].servers[].max          maximum of requests in flight; null: no limit
  upstreams[].servers[].requests     attempts, failed ones included
  upstreams[].servers[].failures     attempts that failed, or were answered with 502, 503 or 504
  upstreams[].servers[].retries      requests that were retried, on another server or on this one
  upstreams[].servers[].cut          responses that were cut off
  upstreams[].servers[].unsolicited  connections closed because the server sent bytes that no request asked for
  upstreams[].servers[].connections  connections that were opened
  upstreams[].servers[].latency_us   average time until the response begins, in microseconds; 0 if unknown
  upstreams[].servers[].check.kind   tcp, http or grpc; check is null without health checks
  upstreams[].servers[].check.port   the port of the checks, if another one is set; otherwise null
  upstreams[].servers[].check.up     whether they consider it up
  upstreams[].servers[].check.rise   consecutive successes
  upstreams[].servers[].check.fall   consecutive failures
  upstreams[].servers[].last_failure
                                     why the last failed check failed, or why it is ejected; null if unknown
Of 'serow run', where the numbers above are sums over all generations, also:
  generations[].number               the worker generations: the first is 1
  generations[].process              its process id
  generations[].stage                starting, serving or leaving
  generations[].answers              whether it answered now; otherwise it hangs, and its numbers are older
  generations[].uptime_seconds       seconds since it began to listen
  generations[].connections_open     its open connections
  generations[].requests_in_progress
                                     its requests in flight
  reloads.done                       successful reloads
  reloads.adopted                    those of them whose settings the running process took over
  reloads.failed                     failed reloads, after which the old settings stayed in effect
  reloads.crashes                    generations that crashed
  reloads.last_failure               why the last reload failed or the last generation could not start; null after a success
  remembered[].upstream              overrides (--persist), which later generations apply too: the upstream of the server
  remembered[].server                the server
  remembered[].action                up, down, drain, weight, add or remove
  remembered[].weight                the weight, with that
  remembered[].persist               true";
