/*
 * A load generator for both kinds of socket, bounded in count and time.
 *
 *     load -c CONNECTIONS (-n REQUESTS | -d SECONDS) -b BYTES [-s] [-k] [-a ADDRESSES] ADDR PATH
 *
 * ADDR is 127.0.0.1:8080 or unix:/path. Every connection stays open and has one request under way at a time. Each
 * response must be a 200 with BYTES bytes of body, or the run ends at once with exit code 1 and one line that says why.
 *
 * Every connection asks once before anything is counted, so that the server has accepted it. Then:
 *     -s   says {"connected": N} and waits for a line on standard input before it counts
 *     -k   after counting says its result and holds the connections, idle, until standard input ends
 *     -a   spreads the connections over so many source addresses from 127.0.0.1 on: more connections than one has ports
 * The result is one line of JSON. Every counted request was answered: after the deadline no new one is sent, and the
 * answers under way are awaited, so a counter of the server divided by the requests here has no cut-off end.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "address.h"

#define EVENTS 512
#define HEAD 4096
#define RECEIVE (256 * 1024)
/* A server that leaves one of our requests unanswered for so long fails the run. */
#define PATIENCE 10
/* Connections opened before their first answers are read: fewer than the shortest usual backlog, nginx's 511. */
#define OPENED_AT_ONCE 256

struct connection {
    int fd;
    int busy;
    size_t head;         /* bytes of an unfinished head, kept in `kept` */
    size_t left;         /* bytes of the body still to come */
    double asked;
    char kept[HEAD];
};

static struct connection *connections;
static int count = 1, poller, spread = 1;
static long requests, sent, answered, bytes, expected = -1;
static double seconds, deadline;
static float *latencies;
static long latency_slots, latency_used;
static char question[1024];
static size_t question_size;

static void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "load: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    exit(1);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void ask(struct connection *c, double at)
{
    ssize_t wrote = send(c->fd, question, question_size, MSG_NOSIGNAL);
    /* A request of some 60 bytes on a connection with nothing under way always fits. */
    if (wrote != (ssize_t)question_size)
        fail("sending a request: %s", wrote < 0 ? strerror(errno) : "cut short");
    c->asked = at;
    c->busy = 1;
    sent++;
}

/* The body's length as the head states it. */
static size_t body_length(const char *head, size_t size)
{
    const char *line = head, *end = head + size;
    if (size < 13 || (memcmp(head, "HTTP/1.1 200 ", 13) && memcmp(head, "HTTP/1.1 200\r", 13)))
        fail("not a 200: %.*s", (int)strcspn(head, "\r"), head);
    while ((line = memchr(line, '\n', (size_t)(end - line)))) {
        line++;
        if (end - line > 15 && strncasecmp(line, "content-length:", 15) == 0)
            return strtoul(line + 15, NULL, 10);
    }
    fail("a response without content-length");
    return 0;
}

static void complete(struct connection *c, double at)
{
    c->busy = 0;
    answered++;
    if (latencies && latency_used < latency_slots)
        latencies[latency_used++] = (float)((at - c->asked) * 1e6);
}

static void take(struct connection *c, const char *at, size_t size, double time)
{
    bytes += (long)size;
    if (!c->busy)
        fail("%zu bytes nobody asked for", size);
    if (!c->left) {
        const char *head = at, *end;
        size_t head_size, body;
        if (c->head) {
            size_t room = HEAD - 1 - c->head, more = size < room ? size : room;
            memcpy(c->kept + c->head, at, more);
            head = c->kept;
            end = memmem(head, c->head + more, "\r\n\r\n", 4);
        } else {
            end = memmem(at, size, "\r\n\r\n", 4);
        }
        if (!end) {
            if (c->head + size >= HEAD)
                fail("a head of more than %d bytes", HEAD);
            if (!c->head)
                memcpy(c->kept, at, size);
            c->head += size;
            return;
        }
        head_size = (size_t)(end - head) + 4;
        body = body_length(head, head_size);
        if (expected >= 0 && body != (size_t)expected)
            fail("a body of %zu bytes instead of %ld", body, expected);
        at += head_size - c->head;
        size -= head_size - c->head;
        c->head = 0;
        c->left = body;
    }
    if (size > c->left)
        fail("%zu bytes more than the content-length", size - c->left);
    c->left -= size;
    if (!c->left)
        complete(c, time);
}

/* One turn: reads what came and asks again where `more` says so. */
static void turn(int (*more)(double))
{
    static struct epoll_event events[EVENTS];
    static char buffer[RECEIVE];
    int ready = epoll_wait(poller, events, EVENTS, PATIENCE * 1000);
    double at = now();
    if (ready < 0 && errno != EINTR)
        fail("epoll_wait: %s", strerror(errno));
    if (ready == 0)
        fail("no answer for %d s; %ld of %ld requests answered", PATIENCE, answered, sent);
    for (int i = 0; i < ready; i++) {
        struct connection *c = &connections[events[i].data.u32];
        ssize_t got = recv(c->fd, buffer, sizeof buffer, 0);
        if (got < 0 && errno == EAGAIN)
            continue;
        if (got <= 0)
            fail("the server closed a connection: %s", got ? strerror(errno) : "end of file");
        take(c, buffer, (size_t)got, at);
        if (!c->busy && more(at))
            ask(c, at);
    }
}

static int never(double at)
{
    (void)at;
    return 0;
}

static int by_count(double at)
{
    (void)at;
    return sent < requests;
}

static int by_time(double at)
{
    return at < deadline;
}

static void open_connection(int number, const struct address *server)
{
    struct connection *c = &connections[number];
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = (unsigned)number};
    c->fd = address_connect(server, number % spread);
    if (c->fd < 0)
        fail("connection %d: %s", number + 1, strerror(errno));
    if (epoll_ctl(poller, EPOLL_CTL_ADD, c->fd, &event))
        fail("epoll_ctl: %s", strerror(errno));
    ask(c, now());
}

static void open_all(const struct address *server)
{
    for (int i = 0; i < count; i++) {
        open_connection(i, server);
        if ((i + 1) % OPENED_AT_ONCE == 0 || i + 1 == count)
            while (answered < sent)
                turn(never);
    }
}

static double run(void)
{
    int (*more)(double) = requests ? by_count : by_time;
    double begin = now();
    deadline = begin + seconds;
    sent = answered = bytes = 0;
    latency_slots = 1 << 22;
    latencies = malloc((size_t)latency_slots * sizeof *latencies);
    for (int i = 0; i < count && more(begin); i++)
        ask(&connections[i], now());
    while (answered < sent)
        turn(more);
    return now() - begin;
}

static int by_size(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static double latency(double share)
{
    return latency_used ? (double)latencies[(long)((double)(latency_used - 1) * share)] : 0;
}

static void wait_for_a_line(void)
{
    int c;
    do
        c = getchar();
    while (c != '\n' && c != EOF);
}

/* How many of the idle connections the server has kept; a closed one is readable. */
static int still_open(void)
{
    int open = 0;
    for (int i = 0; i < count; i++) {
        struct pollfd one = {.fd = connections[i].fd, .events = POLLIN | POLLRDHUP};
        open += poll(&one, 1, 0) == 0;
    }
    return open;
}

static void usage(void)
{
    fprintf(stderr, "usage: load -c CONNECTIONS (-n REQUESTS | -d SECONDS) [-b BYTES] [-s] [-k] [-a ADDRESSES] ADDR PATH\n");
    exit(2);
}

int main(int arguments_count, char **arguments)
{
    int option, start_on_a_line = 0, keep = 0;
    struct address server;
    double took;

    while ((option = getopt(arguments_count, arguments, "c:n:d:b:ska:")) != -1)
        switch (option) {
        case 'c': count = atoi(optarg); break;
        case 'n': requests = atol(optarg); break;
        case 'd': seconds = atof(optarg); break;
        case 'b': expected = atol(optarg); break;
        case 's': start_on_a_line = 1; break;
        case 'k': keep = 1; break;
        case 'a': spread = atoi(optarg); break;
        default: usage();
        }
    if (arguments_count - optind != 2 || count < 1 || spread < 1 || spread > 250 || (requests < 1) == (seconds <= 0))
        usage();
    if (address_parse(&server, arguments[optind]))
        fail("%s: not 127.0.0.1:PORT or unix:/path", arguments[optind]);
    question_size = (size_t)snprintf(question, sizeof question, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n",
                                     arguments[optind + 1], server.is_unix ? "localhost" : arguments[optind]);
    if (question_size >= sizeof question)
        fail("the path is too long");
    connections = calloc((size_t)count, sizeof *connections);
    poller = epoll_create1(EPOLL_CLOEXEC);
    if (!connections || poller < 0)
        fail("%s", strerror(errno));

    open_all(&server);
    if (start_on_a_line) {
        printf("{\"connected\": %d}\n", count);
        fflush(stdout);
        wait_for_a_line();
    }
    took = run();
    qsort(latencies, (size_t)latency_used, sizeof *latencies, by_size);
    printf("{\"requests\": %ld, \"seconds\": %.6f, \"bytes\": %ld, \"p50_us\": %.1f, \"p99_us\": %.1f, \"max_us\": %.1f}\n",
           answered, took, bytes, latency(0.5), latency(0.99), latency(1));
    fflush(stdout);
    if (keep) {
        while (getchar() != EOF)
            ;
        printf("{\"open\": %d}\n", still_open());
    }
    return 0;
}
