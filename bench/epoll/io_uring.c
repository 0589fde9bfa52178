/*
 * The limit with io_uring in the place of epoll: what its operations save when a program does nothing but the kernel's
 * part of the work.
 *
 *     io-uring ADDR [UPSTREAM]      each is 127.0.0.1:8080
 *
 * Without UPSTREAM it is epoll.c ("Hello, World!"), with one it is proxy.c. One thread and one ring: multishot accept,
 * multishot receive into provided buffers, and one io_uring_enter for the sends of a whole round. The proxy sends from
 * the buffer that it received into. For the hello world, connections are registered descriptors. It is no server for
 * anything but this comparison.
 */
#define _GNU_SOURCE
#include <liburing.h>
#include <stdio.h>
#include <time.h>

#include "../load/address.h"

#define ENTRIES 2048
#define COMPLETIONS 8192
#define CONNECTIONS 4096
#define BACKLOG 4096
/* The provided buffers: more than connections of a benchmark have requests under way. */
#define BUFFERS 1024
#define RECEIVE 16384
#define GROUP 1

enum operation { ACCEPT, RECEIVED, SENT, FORGOTTEN };

static struct io_uring ring;
static struct io_uring_buf_ring *provided;
static char *buffers, response[512];
static int response_size, is_proxy, other[2 * CONNECTIONS];
static struct address upstream;

static void die(const char *what, int error)
{
    fprintf(stderr, "%s: %s\n", what, strerror(error < 0 ? -error : error));
    exit(1);
}

static void parse(const char *text, struct address *where)
{
    if (address_parse(where, text) || where->is_unix) {
        fprintf(stderr, "%s: not 127.0.0.1:PORT\n", text);
        exit(2);
    }
}

static struct io_uring_sqe *submission(void)
{
    struct io_uring_sqe *next = io_uring_get_sqe(&ring);
    if (!next) {
        io_uring_submit(&ring);
        next = io_uring_get_sqe(&ring);
    }
    return next;
}

static void describe(struct io_uring_sqe *entry, enum operation operation, int number)
{
    entry->user_data = ((unsigned long long)operation << 32) | (unsigned)number;
}

#define SUBMIT(operation, number, prepare, ...)                                          \
    do {                                                                                 \
        struct io_uring_sqe *entry = submission();                                       \
        prepare(entry, __VA_ARGS__);                                                     \
        describe(entry, operation, number);                                              \
        if (operation != ACCEPT && !is_proxy)                                            \
            entry->flags |= IOSQE_FIXED_FILE;                                            \
        if (operation == RECEIVED) {                                                     \
            entry->flags |= IOSQE_BUFFER_SELECT;                                         \
            entry->buf_group = GROUP;                                                    \
        }                                                                                \
        if (operation == FORGOTTEN)                                                      \
            entry->flags |= IOSQE_CQE_SKIP_SUCCESS;                                      \
    } while (0)

static char *buffer(int number)
{
    return buffers + (size_t)number * RECEIVE;
}

static void give_back(int number)
{
    io_uring_buf_ring_add(provided, buffer(number), RECEIVE, (unsigned short)number, BUFFERS - 1, 0);
    io_uring_buf_ring_advance(provided, 1);
}

static void receive(int fd)
{
    SUBMIT(RECEIVED, fd, io_uring_prep_recv_multishot, fd, NULL, 0, 0);
}

static void begin(int fd)
{
    int on = 1, up;
    if (is_proxy) {
        up = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        setsockopt(up, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (up >= 2 * CONNECTIONS || connect(up, &upstream.to.any, upstream.size))
            die("connect", errno);
        other[up] = fd;
        other[fd] = up;
        receive(up);
    }
    receive(fd);
}

static void finish(int fd)
{
    if (!is_proxy) {
        struct io_uring_sqe *entry = submission();
        io_uring_prep_close_direct(entry, (unsigned)fd);
        describe(entry, FORGOTTEN, 0);
        return;
    }
    if (other[fd]) {
        shutdown(other[fd], SHUT_RDWR);
        other[other[fd]] = 0;
        other[fd] = 0;
    }
    close(fd);
}

static void received(int fd, int result, unsigned flags)
{
    int number = (int)(flags >> IORING_CQE_BUFFER_SHIFT);
    if (flags & IORING_CQE_F_BUFFER) {
        if (is_proxy && result > 0 && other[fd]) {
            SUBMIT(SENT, number, io_uring_prep_send, other[fd], buffer(number), (size_t)result, MSG_NOSIGNAL | MSG_WAITALL);
        } else {
            if (!is_proxy && result >= 4 && memmem(buffer(number), (size_t)result, "\r\n\r\n", 4))
                SUBMIT(FORGOTTEN, fd, io_uring_prep_send, fd, response, (size_t)response_size, MSG_NOSIGNAL);
            give_back(number);
        }
    }
    if (result <= 0 && result != -ENOBUFS)
        finish(fd);
    else if (!(flags & IORING_CQE_F_MORE))
        receive(fd);
}

static void prepare(void)
{
    struct io_uring_params parameters = {
        .flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CQSIZE,
        .cq_entries = COMPLETIONS};
    struct io_uring_buf_reg registered = {.ring_entries = BUFFERS, .bgid = GROUP};
    char date[64];
    time_t now = time(NULL);
    int failed = io_uring_queue_init_params(ENTRIES, &ring, &parameters);

    if (failed)
        die("io_uring_setup", failed);
    io_uring_register_ring_fd(&ring);
    if ((failed = io_uring_register_files_sparse(&ring, CONNECTIONS)))
        die("registering descriptors", failed);
    buffers = aligned_alloc(4096, (size_t)BUFFERS * RECEIVE);
    provided = aligned_alloc(4096, BUFFERS * sizeof(struct io_uring_buf));
    if (!buffers || !provided)
        die("aligned_alloc", errno);
    registered.ring_addr = (unsigned long)provided;
    if ((failed = io_uring_register_buf_ring(&ring, &registered, 0)))
        die("registering buffers", failed);
    io_uring_buf_ring_init(provided);
    for (int i = 0; i < BUFFERS; i++)
        give_back(i);
    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime(&now));
    response_size = snprintf(response, sizeof response,
                             "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 13\r\ndate: %s\r\n\r\n"
                             "Hello, World!", date);
}

int main(int count, char **arguments)
{
    struct address here;
    int listener, on = 1;

    if (count < 2 || count > 3) {
        fprintf(stderr, "usage: %s ADDR [UPSTREAM]\n", arguments[0]);
        return 2;
    }
    parse(arguments[1], &here);
    is_proxy = count == 3;
    if (is_proxy)
        parse(arguments[2], &upstream);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    /* Accepted sockets inherit it: a registered descriptor cannot be given to setsockopt. */
    setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (bind(listener, &here.to.any, here.size) || listen(listener, BACKLOG))
        die(arguments[1], errno);
    prepare();
    if (is_proxy)
        SUBMIT(ACCEPT, 0, io_uring_prep_multishot_accept, listener, NULL, NULL, 0);
    else
        SUBMIT(ACCEPT, 0, io_uring_prep_multishot_accept_direct, listener, NULL, NULL, 0);
    for (;;) {
        unsigned head, seen = 0;
        struct io_uring_cqe *entry;
        io_uring_submit_and_wait(&ring, 1);
        io_uring_for_each_cqe(&ring, head, entry) {
            int number = (int)(entry->user_data & 0xffffffff);
            seen++;
            switch ((enum operation)(entry->user_data >> 32)) {
            case ACCEPT:
                if (entry->res >= 0)
                    begin(entry->res);
                break;
            case RECEIVED:
                received(number, entry->res, entry->flags);
                break;
            case SENT:
                give_back(number);
                break;
            case FORGOTTEN:
                break;
            }
        }
        io_uring_cq_advance(&ring, seen);
    }
}
