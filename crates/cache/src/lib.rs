//! HTTP caching: the decisions of RFC 9111, and a store in memory.
//!
//! Nothing here does I/O or asks a clock: moments are arguments. A handler around a handler, in the crate `serow-site`,
//! asks these functions what to do, in this order:
//!
//! | question | file |
//! | --- | --- |
//! | by which key a response is stored | `key.rs`, `vary.rs` |
//! | what the request demands | `request_control.rs`, `directives.rs`, `delta.rs` |
//! | whether a stored response is used, as it is or after a validation | `reuse.rs`, `reuse_rules.rs`, `freshness.rs` |
//! | what of it the request gets: all, a part, or 304 | `conditional.rs`, `entity_tag.rs` |
//! | how much of the whole a response has | `extent.rs`, `content_range.rs` |
//! | what to ask the origin, and what its answer changes | `validation.rs` |
//! | what of a new response may be stored | `storing.rs`, `response_control.rs`, `targeted.rs`, `rules.rs` |
//! | what an unsafe method invalidates | `invalidation.rs` |
//! | where responses are stored; what is there | `store.rs`, `stored.rs`, `stored_body.rs`, `stored_content.rs`, `invalidated.rs`; `store/contents.rs` |
//! | what removes them before their time; URIs as people write them | `purge.rs`, `tags.rs`, `store/purging.rs`; `written_uri.rs` |
//! | what of them outlives the process | `persistence.rs`, `record.rs`, `store/persistent.rs` |
//! | how requests share a response that is arriving | `fills.rs`, `growing.rs`, `fill_memory.rs` |
//!
//! ```
//! use serow_cache::{CacheRules, ExchangeTimes, StoringRequest, Time, storable};
//! use serow_message::{Headers, Method, StatusCode};
//!
//! let (request, mut response) = (Headers::new(), Headers::new());
//! response.append("cache-control", "max-age=60")?;
//! let now = Time::from_seconds(1_700_000_000);
//! let request =
//!     StoringRequest { method: &Method::GET, headers: &request, has_credentials: false, no_store: false, set_fields: &[] };
//! let exchange = ExchangeTimes { sent: now, received: now };
//! let head = storable(request, StatusCode::OK, &response, &CacheRules::default(), exchange);
//! assert!(head.is_ok_and(|(head, _)| head.freshness.is_fresh(now)));
//! # Ok::<(), serow_message::InvalidHeader>(())
//! ```
#![forbid(unsafe_code)]

mod conditional;
mod content_range;
mod delta;
mod directives;
mod entity_tag;
mod extent;
mod fill_memory;
mod fills;
mod freshness;
mod growing;
mod invalidated;
mod invalidation;
mod key;
mod persistence;
mod purge;
mod record;
mod request_control;
mod response_control;
mod reuse;
mod reuse_rules;
mod rules;
mod store;
mod store_version;
mod stored;
mod stored_body;
mod stored_content;
mod storing;
mod tags;
mod targeted;
mod time;
mod validation;
mod vary;
mod written_uri;

pub use self::{
    conditional::{Selection, is_range_current, select, select_of_part},
    content_range::ContentRange,
    delta::Delta,
    extent::Extent,
    fill_memory::FillMemory,
    fills::{ArrivingResponse, Fill, FillFollower, FillLeader, FillOutcome, FillWatch, Fills},
    freshness::{ExchangeTimes, Freshness, LifetimeSource, is_heuristically_cacheable},
    growing::{ContentCut, GrowingContent, GrowingPiece, GrowingReader, GrowingWriter, WholeContent},
    invalidation::{invalidated, invalidates},
    key::{Key, scope},
    persistence::{KeptResource, Persistence},
    purge::{InvalidPurgeRecord, PurgeMode, PurgeRecord, PurgeTarget},
    record::{content_numbers_of, encode, key_of},
    request_control::RequestControl,
    response_control::{ResponseControl, Restriction},
    reuse::{Reuse, may_replace_error, reuse},
    reuse_rules::{ReuseRules, StaleSpan, ValidationRule},
    rules::CacheRules,
    store::{MemoryStore, RecordVerdict, Resource, ResourceSize, is_part_of_use},
    store_version::StoreVersion,
    stored::{Storable, Stored, StoredHead},
    stored_body::{StoredBody, StoredPart},
    stored_content::{ContentFile, ContentReference, ContentWriter, KeptContent, StoredContent},
    storing::{NotStored, StorableHead, StoringRequest, storable},
    tags::TagNames,
    time::Time,
    validation::{
        HeadVerdict, UpdatedHead, add_validators, head_verdict, make_unconditional, make_unconditional_in_parts,
        updated, validated,
    },
    vary::{Variant, accepts_coding},
    written_uri::{WrittenUriError, WrittenUris},
};
