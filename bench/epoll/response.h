/* The response of the programs that stand for the limit. */
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

static void die(const char *what)
{
    perror(what);
    exit(1);
}

/* Without a path the body is "Hello, World!"; `fields` are further lines of the head. */
static char *make_response(const char *path, const char *fields, size_t *length)
{
    char head[512], date[64], modified[64], *response;
    const char *body = "Hello, World!";
    size_t size = strlen(body);
    time_t now = time(NULL);
    int used;

    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime(&now));
    if (path) {
        struct stat about;
        FILE *file = fopen(path, "rb");
        char *bytes;
        if (!file || fstat(fileno(file), &about))
            die(path);
        size = (size_t)about.st_size;
        bytes = malloc(size + 1);
        if (!bytes || fread(bytes, 1, size, file) != size)
            die(path);
        fclose(file);
        body = bytes;
        strftime(modified, sizeof modified, "%a, %d %b %Y %H:%M:%S GMT", gmtime(&about.st_mtime));
        /* The fields every file server sends, so that as many bytes are copied into the kernel. */
        used = snprintf(head, sizeof head,
                        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: %zu\r\n"
                        "last-modified: %s\r\netag: \"%lx-%zx\"\r\naccept-ranges: bytes\r\n%sdate: %s\r\n\r\n",
                        size, modified, (unsigned long)about.st_mtime, size, fields, date);
    } else {
        used = snprintf(head, sizeof head,
                        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: %zu\r\n%sdate: %s\r\n\r\n",
                        size, fields, date);
    }
    *length = (size_t)used + size;
    response = malloc(*length);
    if (!response)
        die("malloc");
    memcpy(response, head, (size_t)used);
    memcpy(response + used, body, size);
    return response;
}
