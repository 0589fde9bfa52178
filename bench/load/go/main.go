// A second generator, by Go's standard library and quic-go: it shares no code with Serow.
//
//	load -c CONNECTIONS -m STREAMS -n REQUESTS -file FILE https://localhost:PORT/PATH
//	load -handshakes -c CONNECTIONS -n REQUESTS -file FILE https://localhost:PORT/PATH
//
// The first form sends requests over HTTP/3. The second opens a connection with TLS 1.3 for each, and sends it HTTP/1.1; the
// key exchange is X25519, which all servers have, without a session to resume. Each response must be a 200 whose body is the
// bytes of FILE, or the run ends with exit code 1. The result is one line of JSON. It connects to 127.0.0.1 only, whatever the
// URL's host is.
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
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

const timeout = 30 * time.Second

type load struct {
	url      string
	port     string
	expected []byte
	left     atomic.Int64
}

func main() {
	handshakes := flag.Bool("handshakes", false, "a connection for each request, over HTTP/1.1")
	connections := flag.Int("c", 1, "connections")
	streams := flag.Int("m", 1, "concurrent requests of each connection")
	requests := flag.Int64("n", 1, "requests")
	file := flag.String("file", "", "what each body must be")
	flag.Parse()
	if flag.NArg() != 1 || *connections < 1 || *streams < 1 || *requests < 1 {
		flag.Usage()
		os.Exit(2)
	}
	work, err := prepare(flag.Arg(0), *file, *requests)
	began := time.Now()
	if err == nil && *handshakes {
		err = work.each(*connections, func() error { return work.send(oneByOne(work.port)) })
	} else if err == nil {
		err = work.multiplexed(*connections, *streams)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
	json.NewEncoder(os.Stdout).Encode(map[string]any{"requests": *requests, "seconds": time.Since(began).Seconds()})
}

func prepare(address, file string, requests int64) (*load, error) {
	expected, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	target, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	work := &load{url: address, port: target.Port(), expected: expected}
	work.left.Store(requests)
	return work, nil
}

// Runs so many at a time, and waits for all of them.
func (work *load) each(number int, task func() error) error {
	failures := make(chan error, number)
	for range number {
		go func() { failures <- task() }()
	}
	var all error
	for range number {
		all = errors.Join(all, <-failures)
	}
	return all
}

// HTTP/1.1, with a new connection for each request.
func oneByOne(port string) *http.Transport {
	settings := settings("http/1.1")
	settings.MinVersion = tls.VersionTLS13
	return &http.Transport{
		DisableKeepAlives:  true,
		DisableCompression: true,
		TLSClientConfig:    settings,
		DialContext: func(context context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{Timeout: timeout}).DialContext(context, network, net.JoinHostPort("127.0.0.1", port))
		},
	}
}

// HTTP/3.
func (work *load) multiplexed(connections, streams int) error {
	return work.each(connections, func() error {
		transport := &http3.Transport{DisableCompression: true}
		connection, err := connect(work.port)
		if err != nil {
			return err
		}
		defer connection.CloseWithError(0, "")
		client := transport.NewClientConn(connection)
		return work.each(streams, func() error { return work.send(client) })
	})
}

// The certificates are made for one run.
func settings(protocol string) *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, ServerName: "localhost", NextProtos: []string{protocol},
		CurvePreferences: []tls.CurveID{tls.X25519}}
}

func connect(port string) (*quic.Conn, error) {
	context, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return quic.DialAddr(context, net.JoinHostPort("127.0.0.1", port), settings(http3.NextProtoH3), &quic.Config{MaxIdleTimeout: timeout})
}

func (work *load) send(client http.RoundTripper) error {
	var body bytes.Buffer
	for work.left.Add(-1) >= 0 {
		if err := work.request(client, &body); err != nil {
			work.left.Store(0)
			return err
		}
	}
	return nil
}

func (work *load) request(client http.RoundTripper, body *bytes.Buffer) error {
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
