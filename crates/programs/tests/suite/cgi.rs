//! CGI programs as clients see them, and as the system does.

mod limits;
mod places;
mod processes;
mod requests;
mod responses;
