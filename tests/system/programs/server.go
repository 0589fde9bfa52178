// An application in Go, on the unix socket that $SOCKET names, or on the one that it inherits. Its answer is known
// from the request's id and its path: ../proxy/content.py.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
)

func listen() (net.Listener, error) {
	if os.Getenv("LISTEN_PID") == strconv.Itoa(os.Getpid()) {
		return net.FileListener(os.NewFile(3, "inherited"))
	}
	return net.Listen("unix", os.Getenv("SOCKET"))
}

func answer(writer http.ResponseWriter, request *http.Request) {
	id := request.Header.Get("X-Id")
	if request.Method == "POST" {
		io.Copy(io.Discard, request.Body)
		if done, err := os.OpenFile(os.Getenv("DONE"), os.O_APPEND|os.O_WRONLY, 0); err == nil {
			fmt.Fprintln(done, id)
			done.Close()
		}
	}
	switch _, rest, _ := strings.Cut(request.URL.Path, "/"); {
	case rest == "pid":
		fmt.Fprint(writer, os.Getpid())
	case strings.HasPrefix(rest, "bytes/"):
		size, _ := strconv.Atoi(rest[len("bytes/"):])
		line := id + "\n"
		writer.Header().Set("X-Id", id)
		io.WriteString(writer, strings.Repeat(line, size/len(line)+1)[:size])
	default:
		http.NotFound(writer, request)
	}
}

func main() {
	listener, err := listen()
	if err != nil {
		panic(err)
	}
	panic(http.Serve(listener, http.HandlerFunc(answer)))
}
