/*
 * The limit of a proxy: what one costs when it does nothing but the kernel's part of the work.
 *
 *     proxy ADDR UPSTREAM      each is 127.0.0.1:8080 or unix:/path; the upstream's may be both
 *
 * One thread, edge-triggered epoll, a connection to the upstream for each client: recv, send, recv, send per request. It
 * passes bytes and does not know HTTP: no proxy for anything but this comparison.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>

#include "../load/address.h"

#define EVENTS 512
/* The most bytes that a proxy keeps for a connection: HAProxy's and nginx's buffers for bodies are as large. */
#define RECEIVE 16384
#define BACKLOG 4096

struct side {
    int fd;
    struct side *other;
    int ended;          /* the pair is closed and freed after the round: other events of the round may name it */
    int readable;       /* bytes may be waiting that nobody has read, since the other side was full */
    size_t held;        /* bytes for this side that its socket did not take */
    char *bytes;
};

static int poller;

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void parse(const char *text, struct address *where)
{
    if (address_parse(where, text)) {
        fprintf(stderr, "%s: not 127.0.0.1:PORT or unix:/path\n", text);
        exit(2);
    }
}

static void watch(struct side *side, int operation, int blocked)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET | (blocked ? EPOLLOUT : 0), .data.ptr = side};
    if (epoll_ctl(poller, operation, side->fd, &event))
        die("epoll_ctl");
}

static void accept_all(int listener, const struct address *upstream)
{
    for (;;) {
        int on = 1, fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        struct side *pair;
        if (fd < 0)
            return;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        pair = calloc(2, sizeof *pair);
        if (!pair)
            die("calloc");
        pair[0].fd = fd;
        pair[1].fd = address_connect(upstream, 0);
        if (pair[1].fd < 0)
            die("connect");
        pair[0].other = &pair[1];
        pair[1].other = &pair[0];
        watch(&pair[0], EPOLL_CTL_ADD, 0);
        watch(&pair[1], EPOLL_CTL_ADD, 0);
    }
}

/* False when the connection is gone. */
static int deliver(struct side *to, const char *bytes, size_t size)
{
    while (size) {
        ssize_t sent = send(to->fd, bytes, size, MSG_NOSIGNAL);
        if (sent < 0) {
            if (errno != EAGAIN)
                return 0;
            if (!to->bytes && !(to->bytes = malloc(RECEIVE)))
                die("malloc");
            memmove(to->bytes, bytes, size);
            to->held = size;
            watch(to, EPOLL_CTL_MOD, 1);
            return 1;
        }
        bytes += sent;
        size -= (size_t)sent;
    }
    return 1;
}

/* False when the connection is gone. */
static int pass(struct side *from)
{
    static char buffer[RECEIVE];
    struct side *to = from->other;
    from->readable = 1;
    while (!to->held) {
        ssize_t got = recv(from->fd, buffer, sizeof buffer, 0);
        if (got <= 0) {
            from->readable = 0;
            return got < 0 && errno == EAGAIN;
        }
        if (!deliver(to, buffer, (size_t)got))
            return 0;
        /* epoll(7): a stream socket that gave less than was asked for is drained. */
        if ((size_t)got < sizeof buffer) {
            from->readable = 0;
            return 1;
        }
    }
    return 1;
}

/* The socket has room again. False when the connection is gone. */
static int resume(struct side *to)
{
    size_t held = to->held;
    if (!held)
        return 1;
    to->held = 0;
    if (!deliver(to, to->bytes, held))
        return 0;
    if (to->held)
        return 1;
    watch(to, EPOLL_CTL_MOD, 0);
    return !to->other->readable || pass(to->other);
}

int main(int count, char **arguments)
{
    static struct epoll_event events[EVENTS];
    static struct side *ended[2 * EVENTS];
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    struct address here, upstream;
    int listener, on = 1;

    if (count != 3) {
        fprintf(stderr, "usage: %s ADDR UPSTREAM\n", arguments[0]);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    parse(arguments[1], &here);
    parse(arguments[2], &upstream);
    if (here.is_unix)
        unlink(here.to.un.sun_path);
    listener = socket(here.to.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, &here.to.any, here.size) || listen(listener, BACKLOG))
        die(arguments[1]);
    poller = epoll_create1(EPOLL_CLOEXEC);
    if (poller < 0 || epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event))
        die("epoll");
    for (;;) {
        int gone = 0, ready = epoll_wait(poller, events, EVENTS, -1);
        if (ready < 0 && errno != EINTR)
            die("epoll_wait");
        for (int i = 0; i < ready; i++) {
            struct side *side = events[i].data.ptr;
            int alive = 1;
            if (!side) {
                accept_all(listener, &upstream);
                continue;
            }
            if (side->ended)
                continue;
            if (events[i].events & EPOLLOUT)
                alive = resume(side);
            if (alive && events[i].events & EPOLLIN)
                alive = pass(side);
            /* Benchmarks close a connection when they have all they want. */
            if (!alive || events[i].events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) {
                side->ended = side->other->ended = 1;
                ended[gone++] = side;
            }
        }
        while (gone) {
            struct side *side = ended[--gone], *pair = side < side->other ? side : side->other;
            for (int i = 0; i < 2; i++) {
                close(pair[i].fd);
                free(pair[i].bytes);
            }
            free(pair);
        }
    }
}
