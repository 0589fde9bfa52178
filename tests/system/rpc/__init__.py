"""gRPC through the proxy, with the library that most programs speak it by."""
