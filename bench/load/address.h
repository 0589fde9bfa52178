/* Where the load goes: a TCP port of this machine or a unix socket. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

struct address {
    int is_unix;
    socklen_t size;
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_un un;
    } to;
};

/* Not 0 when the text is no address, or one outside 127.0.0.0/8: load goes to this machine only. */
static inline int address_parse(struct address *address, const char *text)
{
    const char *colon = strrchr(text, ':');
    char host[64];
    memset(address, 0, sizeof *address);
    if (strncmp(text, "unix:", 5) == 0) {
        if (strlen(text + 5) >= sizeof address->to.un.sun_path)
            return -1;
        address->is_unix = 1;
        address->to.un.sun_family = AF_UNIX;
        strcpy(address->to.un.sun_path, text + 5);
        address->size = sizeof address->to.un;
        return 0;
    }
    if (!colon || (size_t)(colon - text) >= sizeof host)
        return -1;
    memcpy(host, text, (size_t)(colon - text));
    host[colon - text] = 0;
    address->to.in.sin_family = AF_INET;
    address->to.in.sin_port = htons((unsigned short)atoi(colon + 1));
    address->size = sizeof address->to.in;
    if (inet_pton(AF_INET, host, &address->to.in.sin_addr) != 1)
        return -1;
    return ntohl(address->to.in.sin_addr.s_addr) >> 24 == 127 ? 0 : -1;
}

/* A connected socket that does not block, or -1; `source` counts from 127.0.0.1 on. */
static inline int address_connect(const struct address *address, int source)
{
    /* Bounds the wait for a place in the server's backlog. */
    struct timeval limit = {.tv_sec = 5};
    int on = 1, fd = socket(address->to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (!address->is_unix) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (source) {
            struct sockaddr_in from = {.sin_family = AF_INET};
            from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + (unsigned)source);
            /* The port is chosen at connect, when the whole four-tuple is known, so addresses can share ports. */
            setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
            if (bind(fd, (struct sockaddr *)&from, sizeof from))
                goto failed;
        }
    }
    if (connect(fd, &address->to.any, address->size) || fcntl(fd, F_SETFL, O_NONBLOCK))
        goto failed;
    return fd;
failed:
    on = errno;
    close(fd);
    errno = on;
    return -1;
}
