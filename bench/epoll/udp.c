/*
 * The limit of HTTP/3: the same bytes by UDP, encrypted as QUIC does, and no protocol.
 *
 *     udp serve 127.0.0.1:8443
 *     udp load 127.0.0.1:8443 BYTES REQUESTS STREAMS
 *
 * A datagram asks for so many bytes, up to what one sendmsg may carry; the server decrypts it, seals each packet with
 * AES-128-GCM on its own, and sends all of them at once, which the kernel segments (UDP_SEGMENT). A response counts BYTES and
 * a head; STREAMS of them are asked for together as long as they fit. There are no acknowledgements, no congestion control,
 * no retransmission and no header protection: the next datagram that asks is all that comes back. A datagram that is lost
 * ends the run with an error.
 */
#define _GNU_SOURCE
#include <netinet/udp.h>
#include <openssl/evp.h>
#include <stdio.h>

#include "../load/address.h"
#include "gcm.h"

/* The largest packet that QUIC probes for on a path of 1,500 bytes. */
#define PACKET 1452
/* A short header, and the header of a STREAM frame. */
#define HEADER 13
#define FRAME 8
#define TAG 16
#define PAYLOAD (PACKET - HEADER - FRAME - TAG)
/* The packets that one datagram of IPv4 may contain before it is segmented. */
#define PACKETS (65507 / PACKET)
#define BURST ((size_t)PACKETS * PAYLOAD)
/* The head of a response, compressed by QPACK. */
#define HEAD 40
/* Bursts under way: enough that the server never waits, and fewer than the receive buffer holds. */
#define WINDOW 4
#define RECEIVE_BUFFER (4 << 20)
#define NOT_REACHED 3

struct question {
    unsigned char header[HEADER];
    unsigned char sealed[sizeof(unsigned)];
    unsigned char tag[TAG];
};

static const unsigned char key[16] = "an AES key, 128", start[12];
static EVP_CIPHER_CTX *sealing, *opening;
static struct gcm gcm;
static int is_wide;

static void die(const char *what, int code)
{
    fprintf(stderr, "udp: %s: %s\n", what, strerror(errno));
    exit(code);
}

static void nonce(unsigned char *to, unsigned number)
{
    memcpy(to, start, 12);
    memcpy(to + 8, &number, sizeof number);
}

static void prepare_keys(void)
{
    sealing = EVP_CIPHER_CTX_new();
    opening = EVP_CIPHER_CTX_new();
    if (!sealing || !opening || EVP_EncryptInit_ex(sealing, EVP_aes_128_gcm(), NULL, key, start) != 1
        || EVP_DecryptInit_ex(opening, EVP_aes_128_gcm(), NULL, key, start) != 1) {
        fprintf(stderr, "udp: no AES-128-GCM\n");
        exit(1);
    }
}

/* The header at `to` is authenticated, `size` bytes are encrypted behind it, and a tag follows them. */
static size_t seal(unsigned char *to, unsigned number, const void *bytes, size_t size)
{
    unsigned char with[12];
    int done;
    nonce(with, number);
    to[0] = 0x43;
    memcpy(to + HEADER - sizeof number, &number, sizeof number);
    if (is_wide) {
        gcm_seal(&gcm, with, to, HEADER, to + HEADER, bytes, size);
        return HEADER + size + TAG;
    }
    if (EVP_EncryptInit_ex(sealing, NULL, NULL, NULL, with) != 1 || EVP_EncryptUpdate(sealing, NULL, &done, to, HEADER) != 1
        || EVP_EncryptUpdate(sealing, to + HEADER, &done, bytes, (int)size) != 1
        || EVP_EncryptFinal_ex(sealing, to + HEADER + done, &done) != 1
        || EVP_CIPHER_CTX_ctrl(sealing, EVP_CTRL_GCM_GET_TAG, TAG, to + HEADER + size) != 1)
        die("sealing", 1);
    return HEADER + size + TAG;
}

/* How many bytes are wanted, or 0 if the datagram is not one of ours. */
static unsigned opened(struct question *question, ssize_t got)
{
    unsigned char with[12];
    unsigned number, wanted;
    int done;
    if (got != sizeof *question)
        return 0;
    memcpy(&number, question->header + HEADER - sizeof number, sizeof number);
    nonce(with, number);
    if (EVP_DecryptInit_ex(opening, NULL, NULL, NULL, with) != 1
        || EVP_DecryptUpdate(opening, NULL, &done, question->header, HEADER) != 1
        || EVP_DecryptUpdate(opening, (unsigned char *)&wanted, &done, question->sealed, sizeof wanted) != 1
        || EVP_CIPHER_CTX_ctrl(opening, EVP_CTRL_GCM_SET_TAG, TAG, question->tag) != 1
        || EVP_DecryptFinal_ex(opening, with, &done) != 1)
        return 0;
    return wanted <= BURST ? wanted : 0;
}

/* Checks that packets sealed here equal those that OpenSSL seals, which does it on other processors. */
static void prepare_wide(void)
{
    unsigned char text[PACKET], theirs[PACKET + HEADER + TAG] = {0}, ours[PACKET + HEADER + TAG] = {0};
    if (!gcm_is_available())
        return;
    gcm_init(&gcm, key);
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (unsigned char)(i * 7);
    for (size_t size = 0; size < sizeof text; size++) {
        is_wide = 0;
        seal(theirs, (unsigned)size, text, size);
        is_wide = 1;
        seal(ours, (unsigned)size, text, size);
        if (memcmp(ours, theirs, HEADER + size + TAG)) {
            fprintf(stderr, "udp: a wrong seal of %zu bytes\n", size);
            exit(1);
        }
    }
}

static void send_burst(int fd, struct sockaddr_in *to, const unsigned char *body, size_t size)
{
    static unsigned char packets[PACKETS * PACKET];
    static unsigned number;
    char control[CMSG_SPACE(sizeof(unsigned short))] = {0};
    struct iovec bytes = {.iov_base = packets};
    struct msghdr message = {.msg_name = to, .msg_namelen = sizeof *to, .msg_iov = &bytes, .msg_iovlen = 1,
                             .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *segment = CMSG_FIRSTHDR(&message);
    unsigned short packet = PACKET;

    segment->cmsg_level = SOL_UDP;
    segment->cmsg_type = UDP_SEGMENT;
    segment->cmsg_len = CMSG_LEN(sizeof packet);
    memcpy(CMSG_DATA(segment), &packet, sizeof packet);
    for (size_t sent = 0; sent < size; sent += PAYLOAD) {
        size_t part = size - sent < PAYLOAD ? size - sent : PAYLOAD;
        bytes.iov_len += seal(packets + bytes.iov_len, number++, body + sent, FRAME + part);
    }
    if (sendmsg(fd, &message, 0) < 0)
        die("sendmsg", 1);
}

static void serve(int fd)
{
    unsigned char *body = calloc(1, BURST + FRAME);
    if (!body)
        die("calloc", 1);
    for (;;) {
        struct question question;
        struct sockaddr_in from;
        socklen_t length = sizeof from;
        ssize_t got = recvfrom(fd, &question, sizeof question, 0, (struct sockaddr *)&from, &length);
        unsigned wanted = opened(&question, got);
        if (wanted)
            send_burst(fd, &from, body, wanted);
    }
}

static void ask(int fd, size_t size)
{
    static unsigned number;
    struct question question = {0};
    unsigned wanted = (unsigned)size;
    seal(question.header, number++, &wanted, sizeof wanted);
    if (send(fd, &question, sizeof question, 0) != sizeof question)
        die("send", errno == ECONNREFUSED ? NOT_REACHED : 1);
}

/* Bytes of the network for so many of the body. */
static size_t sealed_size(size_t size)
{
    return size + (size + PAYLOAD - 1) / PAYLOAD * (PACKET - PAYLOAD);
}

static void load(int fd, size_t total, size_t chunk)
{
    static unsigned char buffer[1 << 16];
    size_t asked = 0, expected = 0, received = 0;
    while (asked < total || received < expected) {
        ssize_t got;
        /* A burst that is whole makes room for the next. */
        while (asked < total && expected - received < WINDOW * sealed_size(chunk)) {
            size_t part = total - asked < chunk ? total - asked : chunk;
            ask(fd, part);
            asked += part;
            expected += sealed_size(part);
        }
        got = recv(fd, buffer, sizeof buffer, 0);
        if (got < 0)
            die(errno == EAGAIN ? "a datagram was lost" : "recv", errno == ECONNREFUSED ? NOT_REACHED : 1);
        received += (size_t)got;
    }
    if (received != expected) {
        fprintf(stderr, "udp: %zu bytes instead of %zu\n", received, expected);
        exit(1);
    }
}

int main(int count, char **arguments)
{
    struct timeval limit = {.tv_sec = 5};
    int on = 1, buffer = RECEIVE_BUFFER, fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int is_server = count == 3 && strcmp(arguments[1], "serve") == 0;
    struct address address;

    if ((!is_server && (count != 6 || strcmp(arguments[1], "load"))) || address_parse(&address, arguments[2])
        || address.is_unix) {
        fprintf(stderr, "usage: %s serve ADDR | load ADDR BYTES REQUESTS STREAMS\n", arguments[0]);
        return 2;
    }
    if (fd < 0)
        die("socket", 1);
    prepare_keys();
    prepare_wide();
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
    if (is_server) {
        if (bind(fd, &address.to.any, address.size))
            die(arguments[2], 1);
        serve(fd);
    } else {
        size_t response = strtoul(arguments[3], NULL, 10) + HEAD, requests = strtoul(arguments[4], NULL, 10);
        size_t chunk = response * strtoul(arguments[5], NULL, 10);
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        setsockopt(fd, SOL_UDP, UDP_GRO, &on, sizeof on);
        if (connect(fd, &address.to.any, address.size))
            die(arguments[2], 1);
        load(fd, response * requests, chunk && chunk < BURST ? chunk : BURST);
    }
    return 0;
}
