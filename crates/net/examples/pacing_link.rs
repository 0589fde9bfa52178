//! Pacing on a link: a server that sends bulk through the `Pacer`, and clients that measure.
//!
//! ```text
//! pacing_link server ADDRESS adaptive|off|BYTES [measure]      one connection, then a line about it
//! pacing_link client ADDRESS bulk BYTES urgent|patient         throughput
//! pacing_link client ADDRESS tile MILLISECONDS                 a picture, then, so much later, a script
//! ```
//!
//! To be run with a slow link between the two. Requests are nine bytes: a letter and a length. `p` and `s` are answered
//! with so many bytes of that letter, `s` first; `h` (for hello) with as many, for the bytes that TLS would exchange.
#![allow(clippy::disallowed_methods, reason = "it measures real time")]

use std::{
    collections::VecDeque,
    env,
    error::Error,
    future::poll_fn,
    io::{self, Read, Write},
    net::TcpStream,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use bytes::{Buf, BytesMut};
use serow_net::{Acceptor, ListenOptions, Listener, Socket};
use serow_pacing::{Allowance, DelayHistogram, Demand, Pacer, Pacing, QueueDelay};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["server", address, pacing, ref rest @ ..] => {
            let pacing = match pacing {
                "adaptive" => Pacing::Adaptive,
                "off" => Pacing::Off,
                bytes => Pacing::Fixed(bytes.parse()?),
            };
            tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(serve(
                address,
                pacing,
                rest.contains(&"measure"),
            ))
        }
        ["client", address, "bulk", bytes, demand] => fetch_bulk(address, bytes.parse()?, demand == "urgent"),
        ["client", address, "tile", milliseconds] => fetch_tile(address, Duration::from_millis(milliseconds.parse()?)),
        _ => Err("see the comment at the top of crates/net/examples/pacing_link.rs".into()),
    }
}

async fn serve(address: &str, pacing: Pacing, measure: bool) -> Result<()> {
    let listener = Listener::bind(&address.parse()?, &ListenOptions::default())?;
    let accepted = Acceptor::new(listener)?.accept().await?;
    Server::new(Socket::new(accepted.socket)?, pacing, measure).run().await
}

struct Server {
    socket: Socket,
    pacer: Pacer,
    measure: bool,
    started: Instant,
    delay: QueueDelay,
    histogram: DelayHistogram,
    input: BytesMut,
    ended: bool,
    /// Letter and bytes to go; the most urgent first.
    responses: VecDeque<(u8, usize)>,
    samples: u64,
    marks: u64,
    sends: u64,
    waits: u64,
    looks: u64,
}

impl Server {
    fn new(socket: Socket, pacing: Pacing, measure: bool) -> Self {
        Self {
            socket,
            pacer: Pacer::new(pacing),
            measure,
            started: Instant::now(),
            delay: QueueDelay::new(),
            histogram: DelayHistogram::new(),
            input: BytesMut::new(),
            ended: false,
            responses: VecDeque::new(),
            samples: 0,
            marks: 0,
            sends: 0,
            waits: 0,
            looks: 0,
        }
    }

    async fn run(mut self) -> Result<()> {
        let block = [vec![b'p'; 1 << 18], vec![b's'; 1 << 18], vec![b'h'; 1 << 18]];
        while !self.ended || !self.responses.is_empty() {
            let Some(&(letter, length)) = self.responses.front() else {
                poll_fn(|context| self.poll_requests(context)).await?;
                continue;
            };
            let allowance = self.ask(if letter == b'p' { Demand::LessUrgent } else { Demand::Urgent })?;
            if allowance.bytes == 0 {
                self.wait(allowance.retry_after).await?;
                continue;
            }
            let content = &block[match letter {
                b'p' => 0,
                b's' => 1,
                _ => 2,
            }];
            let chosen = &content[..length.min(allowance.bytes).min(content.len())];
            let sent = self.socket.send(chosen)?;
            self.sends += 1;
            let now = self.now();
            self.pacer.note_sent(sent, now);
            self.delay.note_sent(sent, now);
            self.responses[0].1 -= sent;
            if self.responses[0].1 == 0 {
                self.responses.pop_front();
            }
            self.look_at_delay()?;
            if sent == 0 {
                self.wait(None).await?;
            } else {
                let _ = poll_fn(|context| Poll::Ready(self.poll_requests(context))).await;
            }
        }
        self.report();
        Ok(())
    }

    fn now(&self) -> u64 {
        self.started.elapsed().as_micros() as u64 + 1
    }

    fn ask(&mut self, demand: Demand) -> io::Result<Allowance> {
        if self.pacer.needs_sample(self.now()) {
            self.samples += 1;
            let info = self.socket.tcp_info()?;
            self.pacer.handle_sample(&info, self.now());
            if env::var_os("PACING_TRACE").is_some() {
                eprintln!("{} {:?} {info:?}", self.now(), self.pacer);
            }
        }
        let allowance = self.pacer.allow(demand, self.now());
        if let Some(bytes) = allowance.low_water {
            self.marks += 1;
            self.socket.set_unsent_low_water(bytes)?;
        }
        Ok(allowance)
    }

    /// Waits for room or a request, and looks at the queue every millisecond meanwhile.
    async fn wait(&mut self, retry_after: Option<Duration>) -> io::Result<()> {
        self.waits += 1;
        self.looks += u64::from(retry_after.is_some());
        let until = retry_after.map(|time| Instant::now() + time);
        loop {
            let next = [until, self.delay.is_waiting().then(|| Instant::now() + Duration::from_millis(1))];
            let next = if self.measure { next.into_iter().flatten().min() } else { until };
            let room = poll_fn(|context| match self.poll_requests(context) {
                Poll::Pending if until.is_none() => self.socket.poll_drained(context),
                ready => ready,
            });
            let room = match next {
                Some(next) => tokio::time::timeout_at(next.into(), room).await.ok(),
                None => Some(room.await),
            };
            self.look_at_delay()?;
            match room {
                Some(result) => return result,
                None if until.is_some_and(|until| until <= Instant::now()) => return Ok(()),
                None => {}
            }
        }
    }

    fn look_at_delay(&mut self) -> io::Result<()> {
        if self.measure && self.delay.is_waiting() {
            let info = self.socket.tcp_info()?;
            let now = self.now();
            self.delay.handle_sample(&info, now, &self.histogram);
        }
        Ok(())
    }

    /// Ready when there is another request, or the end of them.
    fn poll_requests(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.ended {
            return Poll::Pending;
        }
        match self.socket.poll_receive(context, &mut self.input, |input| input.reserve(4096)) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            Poll::Ready(Ok(0)) => self.ended = true,
            Poll::Ready(Ok(_)) => {}
        }
        while self.input.len() >= 9 {
            let request = (self.input.get_u8(), self.input.get_u64() as usize);
            // A script goes before a picture, even one that is half sent.
            if request.0 == b's' { self.responses.push_front(request) } else { self.responses.push_back(request) }
        }
        Poll::Ready(Ok(()))
    }

    fn report(&self) {
        let usage = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        let cpu = Duration::try_from(usage).unwrap_or_default();
        let Self { samples, marks, sends, waits, looks, .. } = self;
        let quantile = |per_thousand| self.histogram.quantile(per_thousand).unwrap_or_default().as_secs_f64() * 1e3;
        eprintln!(
            "server: unsent ms p50 {:.1} p90 {:.1} p99 {:.1} max {:.1} | cpu {:.0} ms | {samples} samples {marks} marks {sends} sends {waits} waits {looks} by timer",
            quantile(500),
            quantile(900),
            quantile(990),
            self.histogram.longest().as_secs_f64() * 1e3,
            cpu.as_secs_f64() * 1e3,
        );
    }
}

fn request(stream: &mut TcpStream, letter: u8, length: u64) -> io::Result<()> {
    let mut request = vec![letter];
    request.extend(length.to_be_bytes());
    stream.write_all(&request)
}

/// A connection after what TLS would exchange.
fn connect(address: &str) -> Result<TcpStream> {
    let address = address.trim_start_matches("tcp:");
    let mut stream = (0..50)
        .find_map(|_| {
            TcpStream::connect(address).ok().or_else(|| {
                std::thread::sleep(Duration::from_millis(100));
                None
            })
        })
        .ok_or("no server")?;
    stream.set_nodelay(true)?;
    request(&mut stream, b'h', 1500)?;
    stream.read_exact(&mut [0; 1500])?;
    Ok(stream)
}

fn fetch_bulk(address: &str, length: u64, urgent: bool) -> Result<()> {
    let mut stream = connect(address)?;
    let started = Instant::now();
    request(&mut stream, if urgent { b's' } else { b'p' }, length)?;
    let mut buffer = vec![0; 1 << 18];
    let (mut received, mut at_half, mut first) = (0, Duration::ZERO, Duration::ZERO);
    while received < length {
        let count = stream.read(&mut buffer)?;
        if count == 0 {
            return Err("the server went away".into());
        }
        if received == 0 {
            first = started.elapsed();
        }
        received += count as u64;
        if received <= length / 2 {
            at_half = started.elapsed();
        }
    }
    let time = started.elapsed();
    let rate = |bytes: u64, time: Duration| bytes as f64 * 8.0 / time.as_secs_f64() / 1e6;
    eprintln!(
        "client: {:.4} Mbit/s in {:.2} s, second half {:.4} Mbit/s, first byte {:.0} ms",
        rate(length, time),
        time.as_secs_f64(),
        rate(length / 2, time - at_half),
        first.as_secs_f64() * 1e3,
    );
    Ok(())
}

fn fetch_tile(address: &str, later: Duration) -> Result<()> {
    let mut stream = connect(address)?;
    let mut asking = stream.try_clone()?;
    let asked = Instant::now();
    let asker = std::thread::spawn(move || -> io::Result<Instant> {
        request(&mut asking, b'p', 700_000)?;
        std::thread::sleep(later);
        request(&mut asking, b's', 700_000)?;
        Ok(Instant::now())
    });
    let mut buffer = vec![0; 1 << 16];
    let mut pictured = 0;
    loop {
        let count = stream.read(&mut buffer)?;
        if count == 0 {
            return Err("the server went away".into());
        }
        let before = buffer[..count].iter().position(|byte| *byte == b's');
        pictured += before.unwrap_or(count);
        if before.is_some() {
            break;
        }
    }
    let arrived = Instant::now();
    let scripted = asker.join().map_err(|_| "a thread ended early")??;
    eprintln!(
        "client: script's first byte {:.0} ms after it was asked for, {:.0} ms after the picture, behind {pictured} bytes of it",
        arrived.duration_since(scripted).as_secs_f64() * 1e3,
        arrived.duration_since(asked).as_secs_f64() * 1e3,
    );
    Ok(())
}
