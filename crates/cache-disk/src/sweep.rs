//! How much there is, what purges concern, and what is removed to make room.

use std::{
    io,
    time::{Duration, Instant},
};

use serow_cache::{MemoryStore, RecordVerdict, content_numbers_of, key_of};
use serow_net::time;

use crate::{
    disk_store::DiskStore,
    folder::{FileEntry, SHARDS, ShardFiles, UNFINISHED_AGE},
};

/// Looks at all files, a shard at a time between others' work, and removes those that were used least recently.
#[derive(Debug)]
pub(crate) struct Sweep {
    stage: SweepStage,
    /// The shard in which room is made next.
    cursor: u16,
    /// When it looked last.
    stepped: Instant,
}

#[derive(Debug)]
enum SweepStage {
    /// Files are counted, and those that purges concern are removed.
    Looking {
        shard: u16,
        purges_up_to: u64,
    },
    /// All have been looked at; what these purges have changed is being written.
    Applied {
        purges_up_to: u64,
    },
    Waiting {
        since: Option<Instant>,
    },
}

impl Sweep {
    pub(crate) fn new() -> Self {
        // Elsewhere after each start, so that no shard is emptied before others.
        let cursor = (std::process::id() % u32::from(SHARDS)) as u16;
        Self { stage: SweepStage::Waiting { since: None }, cursor, stepped: time::now() }
    }

    /// How long the thread may wait for other work.
    pub(crate) fn pause(&self) -> Duration {
        match self.stage {
            SweepStage::Looking { .. } | SweepStage::Applied { .. } => STEP_PAUSE,
            SweepStage::Waiting { .. } => IDLE,
        }
    }

    /// Whether it has waited for long, since there is always something to be written.
    pub(crate) fn is_overdue(&self) -> bool {
        !matches!(self.stage, SweepStage::Waiting { .. }) && time::now().duration_since(self.stepped) >= MAX_PAUSE
    }

    /// Looks at the next files, if it is time.
    pub(crate) fn step(&mut self, disk: &DiskStore, store: &MemoryStore) {
        self.stepped = time::now();
        self.stage = match self.stage {
            SweepStage::Waiting { since: Some(since) } if time::now().duration_since(since) < INTERVAL => return,
            SweepStage::Waiting { .. } => {
                if let Err(error) = disk.folder.remove_unfinished(false) {
                    disk.health.warn("look into", &error);
                }
                SweepStage::Looking { shard: 0, purges_up_to: store.current_version() }
            }
            SweepStage::Looking { shard: SHARDS, purges_up_to } => SweepStage::Applied { purges_up_to },
            SweepStage::Looking { shard, purges_up_to } => {
                match look(disk, store, shard as u8) {
                    Ok(bytes) => disk.space.set_used(shard, bytes),
                    Err(error) => disk.health.warn("look into", &error),
                }
                SweepStage::Looking { shard: shard + 1, purges_up_to }
            }
            SweepStage::Applied { purges_up_to } => {
                forget(disk, store, purges_up_to);
                SweepStage::Waiting { since: Some(time::now()) }
            }
        };
    }

    /// Removes files until there is room again.
    pub(crate) fn make_room(&mut self, disk: &DiskStore, store: &MemoryStore) {
        if disk.health.take_full() {
            // New responses take the place of others, as at the limit.
            let before = disk.counts().evicted;
            let evicted = || disk.counts().evicted - before;
            // With few files, one has to do.
            self.evict_until(|round| evicted() >= REPLACED || evicted() > 0 && round >= SHARDS, disk, store);
            if evicted() > 0 {
                disk.health.resume();
            }
        }
        if disk.space.is_exceeded() && disk.is_writable() {
            self.evict_until(|_| disk.space.has_spare_room(), disk, store);
        }
    }

    /// Removes the files of one shard after the other that were used least recently, until it is enough.
    fn evict_until(&mut self, is_enough: impl Fn(u16) -> bool, disk: &DiskStore, store: &MemoryStore) {
        for round in 0..2 * SHARDS {
            if is_enough(round) {
                return;
            }
            let shard = self.cursor;
            self.cursor = (self.cursor + 1) % SHARDS;
            // In the second round, what is in memory has to go as well.
            if let Err(error) = thin_out(disk, store, shard as u8, round >= SHARDS) {
                return disk.health.warn("make room in", &error);
            }
        }
    }
}

/// Adds up the files of a shard; removes what purges have removed, and contents that no record refers to.
fn look(disk: &DiskStore, store: &MemoryStore, shard: u8) -> io::Result<u64> {
    let mut sum = 0;
    let has_purges = store.has_persistent_purges();
    let ShardFiles { records, contents } = disk.folder.shard(shard)?;
    for file in records {
        sum += file.size;
        if !has_purges {
            continue;
        }
        let beginning = disk.folder.beginning(&file.name)?;
        let Some(key) = key_of(&beginning) else {
            sum -= removed(disk, &file)?;
            continue;
        };
        let Some(record) = disk.folder.read(&file.name)? else { continue };
        match store.judge_record(&key, &record) {
            RecordVerdict::Unchanged => {}
            RecordVerdict::Gone => sum -= removed(disk, &file)?,
            RecordVerdict::Changed => store.rewrite_kept(&key),
        }
    }
    // Those of records that have just been removed are gone.
    for (record, content) in contents {
        let is_referred = disk.folder.contents_of(&record).contains(&content.name);
        if !is_referred && time::wall().duration_since(content.used).is_ok_and(|age| age > UNFINISHED_AGE) {
            disk.folder.remove(&content.name)?;
        } else {
            sum += disk.folder.size(&content.name);
        }
    }
    Ok(sum)
}

fn removed(disk: &DiskStore, file: &FileEntry) -> io::Result<u64> {
    disk.folder.contents_of(&file.name).iter().for_each(|name| disk.remove_content(name));
    Ok(if disk.folder.remove(&file.name)? { file.size } else { 0 })
}

/// The purges up to this version have been applied to all files.
fn forget(disk: &DiskStore, store: &MemoryStore, version: u64) {
    if !store.has_persistent_purges() || !disk.is_writable() {
        return;
    }
    match disk.purges.forget(version) {
        Ok(()) => store.forget_purges(version),
        Err(error) => disk.health.warn("write the purges in", &error),
    }
}

/// Removes a quarter of the files of a shard: those that were used least recently, but for those that are in memory too.
fn thin_out(disk: &DiskStore, store: &MemoryStore, shard: u8, also_in_memory: bool) -> io::Result<()> {
    let mut files = disk.folder.shard(shard)?.records;
    files.sort_by_key(|file| file.used);
    files.truncate(files.len().div_ceil(4));
    for file in files {
        let beginning = disk.folder.beginning(&file.name).unwrap_or_default();
        let key = key_of(&beginning).filter(|_| !also_in_memory);
        // Of those with a file for their content, the head alone is in memory: each use marks the record.
        let is_in_file = content_numbers_of(&beginning).is_some_and(|numbers| !numbers.is_empty());
        if !is_in_file && key.is_some_and(|key| store.has_in_memory(&key)) {
            disk.folder.touch(&file.name)?;
        } else {
            disk.evict(&file)?;
        }
    }
    Ok(())
}

/// Files that are removed on a full disk: so many that the next may be written without a search.
const REPLACED: u64 = 32;

/// Between two steps: to look at the files of a shard takes a millisecond or two, for which responses would wait that come in
/// bursts.
const STEP_PAUSE: Duration = Duration::from_millis(10);

/// Between two steps while responses come all the time: all shards are looked at within half a minute.
const MAX_PAUSE: Duration = Duration::from_millis(100);

/// How long the thread waits for work where nothing is to be looked at.
const IDLE: Duration = Duration::from_secs(1);

/// Between two looks at all files.
const INTERVAL: Duration = Duration::from_secs(3600);
