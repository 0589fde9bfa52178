// A second generator for HTTP/3, by quic-go: it shares no code with Serow.
//
//	http3 -c CONNECTIONS -m STREAMS -n REQUESTS -file FILE https://localhost:PORT/PATH
//
// Each response must be a 200 whose body is the bytes of FILE, or the run ends with exit code 1. The connections are opened
// first. The result is one line of JSON. It connects to 127.0.0.1 only, whatever the URL's host is.
package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

const timeout = 30 * time.Second

type load struct {
	url      string
	expected []byte
	left     atomic.Int64
}

func main() {
	connections := flag.Int("c", 1, "connections")
	streams := flag.Int("m", 1, "concurrent requests of each connection")
	requests := flag.Int64("n", 1, "requests")
	file := flag.String("file", "", "what each body must be")
	flag.Parse()
	if flag.NArg() != 1 || *connections < 1 || *streams < 1 || *requests < 1 {
		fmt.Fprintln(os.Stderr, "usage: http3 -c CONNECTIONS -m STREAMS -n REQUESTS -file FILE URL")
		os.Exit(2)
	}
	took, err := run(flag.Arg(0), *file, *connections, *streams, *requests)
	if err != nil {
		fmt.Fprintln(os.Stderr, "http3:", err)
		os.Exit(1)
	}
	json.NewEncoder(os.Stdout).Encode(map[string]any{"requests": *requests, "seconds": took.Seconds()})
}

func run(address, file string, connections, streams int, requests int64) (time.Duration, error) {
	expected, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	target, err := url.Parse(address)
	if err != nil {
		return 0, err
	}
	work := &load{url: address, expected: expected}
	work.left.Store(requests)
	clients := make([]*http3.ClientConn, connections)
	for number := range clients {
		transport := &http3.Transport{DisableCompression: true}
		connection, err := connect(target.Port())
		if err != nil {
			return 0, err
		}
		defer connection.CloseWithError(0, "")
		clients[number] = transport.NewClientConn(connection)
	}
	began := time.Now()
	failures := make(chan error, connections*streams)
	var group sync.WaitGroup
	for _, client := range clients {
		for range streams {
			group.Go(func() { failures <- work.send(client) })
		}
	}
	group.Wait()
	close(failures)
	var all error
	for failure := range failures {
		all = errors.Join(all, failure)
	}
	return time.Since(began), all
}

func connect(port string) (*quic.Conn, error) {
	context, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	// The certificates are made for one run.
	settings := &tls.Config{InsecureSkipVerify: true, ServerName: "localhost", NextProtos: []string{http3.NextProtoH3}}
	return quic.DialAddr(context, net.JoinHostPort("127.0.0.1", port), settings, &quic.Config{MaxIdleTimeout: timeout})
}

func (work *load) send(client *http3.ClientConn) error {
	var body bytes.Buffer
	for work.left.Add(-1) >= 0 {
		if err := work.request(client, &body); err != nil {
			work.left.Store(0)
			return err
		}
	}
	return nil
}

func (work *load) request(client *http3.ClientConn, body *bytes.Buffer) error {
	context, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(context, http.MethodGet, work.url, nil)
	if err != nil {
		return err
	}
	response, err := client.RoundTrip(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body.Reset()
	if _, err := io.Copy(body, response.Body); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK || !bytes.Equal(body.Bytes(), work.expected) {
		return fmt.Errorf("status %d with %d bytes instead of 200 with %d", response.StatusCode, body.Len(), len(work.expected))
	}
	return nil
}
