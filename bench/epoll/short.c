/*
 * The limit of short connections: what one request on a connection of its own costs in the kernel.
 *
 *     short 127.0.0.1:8080 FILE
 *
 * Four system calls for each: accept4, recv, send, close. The kernel hands a connection over when its request has arrived
 * (TCP_DEFER_ACCEPT), so that recv never waits; it is no server for anything but this comparison.
 */
#define _GNU_SOURCE
#include <signal.h>

#include "../load/address.h"
#include "response.h"

#define RECEIVE 16384
#define BACKLOG 4096

int main(int count, char **arguments)
{
    static char buffer[RECEIVE];
    struct address address;
    char *response;
    size_t length;
    int listener, on = 1;

    if (count != 3 || address_parse(&address, arguments[1]) || address.is_unix) {
        fprintf(stderr, "usage: %s 127.0.0.1:PORT FILE\n", arguments[0]);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    response = make_response(arguments[2], "connection: close\r\n", &length);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0)
        die("socket");
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(listener, IPPROTO_TCP, TCP_DEFER_ACCEPT, &on, sizeof on);
    if (bind(listener, &address.to.any, address.size) || listen(listener, BACKLOG))
        die(arguments[1]);
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        ssize_t got;
        if (fd < 0)
            continue;
        got = recv(fd, buffer, sizeof buffer, 0);
        /* A request of a benchmark comes whole. */
        if (got > 4 && memcmp(buffer + got - 4, "\r\n\r\n", 4) == 0 && send(fd, response, length, 0) < 0)
            perror("send");
        close(fd);
    }
}
