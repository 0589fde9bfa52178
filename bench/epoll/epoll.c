/*
 * The limit: what an HTTP/1.1 server costs when it does nothing but the kernel's part of the work.
 *
 *     epoll ADDR [FILE]        ADDR is 127.0.0.1:8080 or unix:/path
 *
 * One thread, edge-triggered epoll, one recv and one send per request, a response made before the first request.
 * Without FILE the body is "Hello, World!"; with FILE it is the file's bytes, read once at the start. It does not parse
 * the request beyond its end and is no server for anything but this comparison.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/epoll.h>

#include "../load/address.h"
#include "response.h"

/* As many responses as pipelined requests are answered by one send; benchmarks often pipeline 16 deep. */
#define BATCH 16
#define EVENTS 512
#define RECEIVE 16384
/* Linux caps the backlog at net.core.somaxconn, 4096 by default: 1,000 connections at once must not be refused. */
#define BACKLOG 4096

struct connection {
    int fd;
    int matched;   /* how many bytes of "\r\n\r\n" ended the last read: a head may be split anywhere */
    int blocked;   /* waits for EPOLLOUT: the send buffer was full */
    size_t owed;   /* bytes of responses not yet sent, in whole and partly sent responses */
};

static char *responses;
static size_t length;
static int poller;

static void prepare(const char *path)
{
    char *one = make_response(path, "", &length);
    responses = malloc(BATCH * length);
    if (!responses)
        die("malloc");
    for (int i = 0; i < BATCH; i++)
        memcpy(responses + (size_t)i * length, one, length);
    free(one);
}

static int listen_on(const char *text, int *tcp)
{
    struct address address;
    int fd, on = 1;

    if (address_parse(&address, text)) {
        fprintf(stderr, "%s: not 127.0.0.1:PORT or unix:/path\n", text);
        exit(2);
    }
    *tcp = !address.is_unix;
    if (address.is_unix)
        unlink(address.to.un.sun_path);
    fd = socket(address.to.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        die("socket");
    if (*tcp)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, &address.to.any, address.size) || listen(fd, BACKLOG))
        die(text);
    return fd;
}

static void accept_all(int listener, int tcp)
{
    for (;;) {
        int on = 1, fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET};
        struct connection *new;
        if (fd < 0)
            return;
        if (tcp)
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        new = calloc(1, sizeof *new);
        if (!new)
            die("calloc");
        new->fd = fd;
        event.data.ptr = new;
        if (epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event))
            die("epoll_ctl");
    }
}

static void finish(struct connection *c)
{
    close(c->fd);
    free(c);
}

/* EPOLLOUT is asked for only while a send is blocked: a unix socket would otherwise wake us after every read of the peer. */
static void watch(struct connection *c, int blocked)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET | (blocked ? EPOLLOUT : 0), .data.ptr = c};
    if (epoll_ctl(poller, EPOLL_CTL_MOD, c->fd, &event))
        die("epoll_ctl");
    c->blocked = blocked;
}

/* False when the connection is gone. */
static int send_owed(struct connection *c)
{
    while (c->owed) {
        /* Divides only after a send that the kernel cut short. */
        size_t begin = c->owed == length ? 0 : (length - c->owed % length) % length, most = BATCH * length - begin;
        ssize_t sent = send(c->fd, responses + begin, c->owed < most ? c->owed : most, MSG_NOSIGNAL);
        if (sent < 0) {
            if (errno != EAGAIN)
                return 0;
            if (!c->blocked)
                watch(c, 1);
            return 1;
        }
        c->owed -= (size_t)sent;
    }
    if (c->blocked)
        watch(c, 0);
    return 1;
}

/* The number of heads that end in these bytes. */
static size_t count_heads(struct connection *c, const char *at, size_t size)
{
    size_t heads = 0;
    const char *end = at + size;
    /* The usual case: one whole head and nothing else. */
    if (!c->matched && size >= 4 && memmem(at, size, "\r\n\r\n", 4) == end - 4)
        return 1;
    for (; at < end; at++) {
        if (*at == "\r\n\r\n"[c->matched])
            c->matched++;
        else
            c->matched = *at == '\r';
        if (c->matched == 4) {
            c->matched = 0;
            heads++;
        }
    }
    return heads;
}

/* False when the connection is gone. */
static int receive(struct connection *c)
{
    static char buffer[RECEIVE];
    for (;;) {
        ssize_t got = recv(c->fd, buffer, sizeof buffer, 0);
        if (got <= 0)
            return got < 0 && errno == EAGAIN;
        c->owed += count_heads(c, buffer, (size_t)got) * length;
        if (!c->blocked && !send_owed(c))
            return 0;
        /* epoll(7): a stream socket that gave less than was asked for is drained, so no second recv is needed. */
        if ((size_t)got < sizeof buffer)
            return 1;
    }
}

int main(int count, char **arguments)
{
    static struct epoll_event events[EVENTS];
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    int listener, tcp;

    if (count < 2 || count > 3) {
        fprintf(stderr, "usage: %s ADDR [FILE]\n", arguments[0]);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    prepare(count == 3 ? arguments[2] : NULL);
    listener = listen_on(arguments[1], &tcp);
    poller = epoll_create1(EPOLL_CLOEXEC);
    if (poller < 0 || epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event))
        die("epoll");
    for (;;) {
        int ready = epoll_wait(poller, events, EVENTS, -1);
        if (ready < 0 && errno != EINTR)
            die("epoll_wait");
        for (int i = 0; i < ready; i++) {
            struct connection *c = events[i].data.ptr;
            int alive = 1;
            if (!c) {
                accept_all(listener, tcp);
                continue;
            }
            if (events[i].events & EPOLLOUT)
                alive = send_owed(c);
            if (alive && events[i].events & EPOLLIN)
                alive = receive(c);
            /* A peer that has closed its side wants no more than what is owed; the next request cannot come. */
            if (!alive || events[i].events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
                finish(c);
        }
    }
}
