//! The defaults of options, which settings files share.

use std::{
    any::{Any, TypeId},
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use clap::{Args, Command};

/// The options of an empty command line; settings files have the same defaults.
pub fn without_options<T: Args + Clone + Any + Send>() -> T {
    // Reading them takes long beside what a file with thousands of sites does with them.
    static READ: Mutex<BTreeMap<TypeId, Box<dyn Any + Send>>> = Mutex::new(BTreeMap::new());
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    let known = read.get(&TypeId::of::<T>()).and_then(|options| options.downcast_ref::<T>());
    known.cloned().unwrap_or_else(|| {
        let command = T::augment_args(Command::new("serow").no_binary_name(true));
        let matches = command.try_get_matches_from([""; 0]);
        let options = matches.and_then(|matches| T::from_arg_matches(&matches)).expect("every option can be left out");
        read.insert(TypeId::of::<T>(), Box::new(options.clone()));
        options
    })
}
