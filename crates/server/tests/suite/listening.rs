//! Where a server listens.

use serow::{Address, Peer, Request, Response, Server};

use crate::support::{Client, Folder, Running};

fn who(request: Request) -> std::future::Ready<Response> {
    let thread = std::thread::current().name().unwrap_or_default().to_owned();
    let connection = request.connection();
    std::future::ready(Response::text(format!("{:?} {:?} {thread}", connection.peer(), connection.local())))
}

#[test]
fn several_listeners_of_every_kind() {
    let folder = Folder::new("listening");
    let path = folder.path("socket");
    let server =
        Server::new().listen("127.0.0.1:0").listen("[::1]:0").listen(format!("unix:{}", path.display())).workers(2);
    let server = Running::of(server.bind().unwrap(), who);
    let [Address::Tcp(four), Address::Tcp(six), Address::Unix(unix)] = &server.addresses[..] else {
        panic!("{:?}", server.addresses)
    };
    assert!(four.port() != 0 && six.port() != 0 && six.is_ipv6());
    assert_eq!(unix, &path);
    for address in [four, six] {
        let mut client = Client::tcp(*address);
        let both = format!("{:?} {:?} ", Peer::Tcp(client.local_address()), Some(address));
        assert!(client.get("/").text().starts_with(&both));
    }
    let mut client = Running::connect_unix(&path);
    for _ in 0..3 {
        assert!(client.get("/").text().starts_with("Unix None "));
    }
    drop(server);
    assert!(!path.exists());
}

#[test]
fn every_worker_serves() {
    let server = Running::of(Server::new().listen("127.0.0.1:0").workers(2).bind().unwrap(), who);
    let mut seen = std::collections::HashSet::new();
    for _ in 0..1000 {
        let answer = server.connect().get("/");
        seen.insert(answer.text().rsplit(' ').next().unwrap().to_owned());
        if seen.len() == 2 {
            return;
        }
    }
    panic!("only {seen:?}");
}

#[test]
fn connections_wait_between_binding_and_serving() {
    let bound = Server::new().listen("127.0.0.1:0").workers(1).bind().unwrap();
    let Some(&Address::Tcp(address)) = bound.addresses().next() else { panic!("no address") };
    let mut client = Client::tcp(address);
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let _server = Running::of(bound, who);
    assert_eq!(client.answer().status, 200);
}

#[test]
fn an_address_that_cannot_be_bound_is_an_error_of_one_line() {
    for (address, hint) in
        [("nonsense:1:2", "nonsense"), ("192.0.2.1:80", "192.0.2.1"), ("unix:/no/such/x", "/no/such")]
    {
        let Err(error) = Server::new().listen(address).bind() else { panic!("{address} was bound") };
        let text = error.to_string();
        assert!(text.contains(hint) && !text.contains('\n'), "{text}");
    }
    let first = Server::new().listen("127.0.0.1:0").workers(1).bind().unwrap();
    let taken = first.addresses().next().unwrap().to_string();
    assert!(Server::new().listen(taken).workers(2).bind().is_err());
}
