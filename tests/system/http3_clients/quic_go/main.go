// quic-go, as a program: clients.py describes the arguments and the output.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/quic-go/qlog"
	"github.com/quic-go/quic-go/qlogwriter"
)

const (
	timeout = 60 * time.Second
	atATime = 100
)

type result map[string]any

// Connections to the server of a URL. The last of them is known, and how often this side has changed keys.
type session struct {
	url     string
	tls     *tls.Config
	updates atomic.Int32
	last    atomic.Pointer[quic.Conn]
}

func (s *session) transport() *http3.Transport {
	return &http3.Transport{
		TLSClientConfig:    s.tls.Clone(),
		QUICConfig:         &quic.Config{Tracer: s.trace},
		DisableCompression: true,
		Dial: func(ctx context.Context, address string, tls *tls.Config, config *quic.Config) (*quic.Conn, error) {
			transport, err := newTransport()
			if err != nil {
				return nil, err
			}
			target, err := net.ResolveUDPAddr("udp", address)
			if err != nil {
				return nil, err
			}
			connection, err := transport.Dial(ctx, target, tls, config)
			s.last.Store(connection)
			return connection, err
		},
	}
}

func (s *session) trace(context.Context, bool, quic.ConnectionID) qlogwriter.Trace { return s }
func (s *session) AddProducer() qlogwriter.Recorder                                { return s }
func (s *session) SupportsSchemas(string) bool                                     { return true }
func (s *session) Close() error                                                    { return nil }

func (s *session) RecordEvent(event qlogwriter.Event) {
	if updated, ok := event.(qlog.KeyUpdated); ok && updated.Trigger == qlog.KeyUpdateLocal {
		// One event per direction.
		s.updates.Add(1)
	}
}

func (s *session) request(transport *http3.Transport, method string, body []byte) (result, error) {
	return s.requestWith(transport, method, body, func([]byte) {})
}

// Calls a function with what has come of the body so far.
func (s *session) requestWith(transport *http3.Transport, method string, body []byte, progress func([]byte)) (result, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, s.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var received []byte
	part := make([]byte, 1<<16)
	for {
		length, err := response.Body.Read(part)
		received = append(received, part[:length]...)
		progress(received)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return result{"status": response.StatusCode, "body": fmt.Sprintf("%x", sha256.Sum256(received)), "protocol": "h3"}, nil
}

func (s *session) get() (result, error) {
	transport := s.transport()
	defer transport.Close()
	return s.request(transport, "GET", nil)
}

func (s *session) post(file string) (result, error) {
	body, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	transport := s.transport()
	defer transport.Close()
	return s.request(transport, "POST", body)
}

func (s *session) many(count int) (result, error) {
	transport := s.transport()
	defer transport.Close()
	var succeeded atomic.Int32
	var workers sync.WaitGroup
	numbers := make(chan int)
	for range atATime {
		workers.Go(func() {
			for range numbers {
				if response, err := s.request(transport, "GET", nil); err == nil && response["status"] == 200 {
					succeeded.Add(1)
				}
			}
		})
	}
	for number := range count {
		numbers <- number
	}
	close(numbers)
	workers.Wait()
	return result{"succeeded": succeeded.Load()}, nil
}

func (s *session) twice() (result, error) {
	transport := s.transport()
	if _, err := s.request(transport, "GET", nil); err != nil {
		return nil, err
	}
	// Tickets come after the response.
	time.Sleep(100 * time.Millisecond)
	transport.Close()
	transport = s.transport()
	defer transport.Close()
	response, err := s.request(transport, "GET", nil)
	if err == nil {
		response["resumed"] = s.last.Load().ConnectionState().TLS.DidResume
	}
	return response, err
}

// quic-go changes keys by itself after 100 packets.
func (s *session) update() (result, error) {
	response, err := s.get()
	if err == nil {
		response["updates"] = s.updates.Load()
	}
	return response, err
}

func (s *session) migrate() (result, error) {
	transport := s.transport()
	defer transport.Close()
	migrations := 0
	response, err := s.requestWith(transport, "GET", nil, func(received []byte) {
		if migrations < 3 && len(received) > (migrations+1)*2_000_000 {
			if err := s.move(); err != nil {
				fmt.Fprintln(os.Stderr, "migration:", err)
				return
			}
			migrations++
		}
	})
	if err == nil {
		response["migrations"] = migrations
	}
	return response, err
}

// A socket of its own. quic.DialAddr would use connection IDs without a length, which cannot migrate (RFC 9000 §9).
func newTransport() (*quic.Transport, error) {
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	return &quic.Transport{Conn: socket}, err
}

func (s *session) move() error {
	transport, err := newTransport()
	if err != nil {
		return err
	}
	path, err := s.last.Load().AddPath(transport)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := path.Probe(ctx); err != nil {
		return err
	}
	return path.Switch()
}

func (s *session) during(seconds float64, loops int) (result, error) {
	transport := s.transport()
	defer transport.Close()
	until := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	answered, failed := []float64{}, []string{}
	var lock sync.Mutex
	var workers sync.WaitGroup
	for range loops {
		workers.Go(func() {
			for time.Now().Before(until) {
				response, err := s.request(transport, "GET", nil)
				now := float64(time.Now().UnixMicro()) / 1e6
				lock.Lock()
				if err != nil {
					failed = append(failed, fmt.Sprintf("%.3f %T %v", now, err, err))
				} else if response["status"] != 200 {
					failed = append(failed, fmt.Sprintf("%.3f status %d", now, response["status"]))
				} else {
					if len(answered) == 0 {
						fmt.Println("ready")
					}
					answered = append(answered, now)
				}
				lock.Unlock()
			}
		})
	}
	workers.Wait()
	return result{"answered": answered, "failed": failed}, nil
}

func run(arguments []string) (result, error) {
	verb, url, authority, rest := arguments[0], arguments[1], arguments[2], arguments[3:]
	certificate, err := os.ReadFile(authority)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(certificate)
	s := &session{url: url, tls: &tls.Config{RootCAs: roots, ClientSessionCache: tls.NewLRUClientSessionCache(8)}}
	switch verb {
	case "get":
		return s.get()
	case "post":
		return s.post(rest[0])
	case "many":
		count, _ := strconv.Atoi(rest[0])
		return s.many(count)
	case "twice":
		return s.twice()
	case "update":
		return s.update()
	case "migrate":
		return s.migrate()
	case "during":
		seconds, _ := strconv.ParseFloat(rest[0], 64)
		loops, _ := strconv.Atoi(rest[1])
		return s.during(seconds, loops)
	}
	return nil, fmt.Errorf("unknown verb %s", verb)
}

func main() {
	found, err := run(os.Args[1:])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(found)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "quic-go: %T: %v\n", err, err)
		os.Exit(1)
	}
}
