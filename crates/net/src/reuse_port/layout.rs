//! How the kernel numbers the sockets of a group.

/// The sockets of a group in the order of their numbers: which of them are this process's.
///
/// The kernel numbers them as they join, and when one closes, the last takes its number (`reuseport_detach_sock` in
/// net/core/sock_reuseport.c). So a socket that another process closes changes other numbers too; one that joins does
/// not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// For each number, the index of this process's socket; none for those of others.
    places: Vec<Option<usize>>,
}

impl Layout {
    pub(crate) fn new(places: Vec<Option<usize>>) -> Self {
        Self { places }
    }

    /// The numbers of the other processes' sockets.
    pub(crate) fn others(&self) -> Vec<u32> {
        self.numbers(|place| place.is_none())
    }

    /// The number of the socket to close next: the highest of ours.
    pub(crate) fn next_to_close(&self) -> Option<usize> {
        self.places.iter().rposition(Option::is_some)
    }

    /// How many sockets are ours.
    pub(crate) fn count_ours(&self) -> usize {
        self.places.iter().flatten().count()
    }

    /// The numbers that belong to other processes both before and after the next of ours closes. If the others have a
    /// single socket, there may be none; then the number that is right before.
    pub(crate) fn stable_others(&self) -> Vec<u32> {
        let mut others = self.others();
        let last = self.places.len().saturating_sub(1);
        if others.len() > 1 {
            // The last one gets the number of the closed socket.
            others.retain(|number| *number as usize != last);
        }
        others
    }

    /// Removes the socket with this number; returns which of ours it was.
    pub(crate) fn close(&mut self, number: usize) -> Option<usize> {
        if number < self.places.len() { self.places.swap_remove(number) } else { None }
    }

    fn numbers(&self, wanted: impl Fn(&Option<usize>) -> bool) -> Vec<u32> {
        let places = self.places.iter().enumerate().filter(|(_, place)| wanted(place));
        places.map(|(number, _)| number as u32).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(text: &str) -> Layout {
        let mut count = 0;
        let mut ours = || {
            count += 1;
            count - 1
        };
        Layout::new(text.chars().map(|owner| (owner == 'o').then(&mut ours)).collect())
    }

    #[test]
    fn sockets_close_from_the_highest_number_down() {
        // Ours are `o`; the number to close next, and the numbers that are right before and after.
        let cases: [(&str, Option<usize>, &[u32]); 9] = [
            ("oo..", Some(1), &[2]),
            ("..oo", Some(3), &[0, 1]),
            (".o.o.", Some(3), &[0, 2]),
            ("oooo..", Some(3), &[4]),
            ("ooo.", Some(2), &[3]),
            (".ooo", Some(3), &[0]),
            ("o...", Some(0), &[1, 2]),
            ("...", None, &[0, 1]),
            ("oo", Some(1), &[]),
        ];
        for (text, next, stable_others) in cases {
            let layout = layout(text);
            assert_eq!((layout.next_to_close(), &layout.stable_others()[..]), (next, stable_others), "{text}");
        }
    }

    /// For all groups of up to seven sockets, compared with a model of the kernel's list.
    #[test]
    fn no_connection_is_directed_to_a_closing_socket() {
        for size in 1..=7_u32 {
            for ours in 0..1_u32 << size {
                let text: String = (0..size).map(|bit| if ours >> bit & 1 == 1 { 'o' } else { '.' }).collect();
                let mut layout = layout(&text);
                let mut kernel = layout.places.clone();
                let others = layout.others().len();
                while let Some(number) = layout.next_to_close() {
                    let stable_others = layout.stable_others();
                    assert!(stable_others.iter().all(|target| kernel[*target as usize].is_none()), "before: {text}");
                    assert_eq!(stable_others.is_empty(), others == 0, "{text}");
                    let closed = kernel.swap_remove(number);
                    assert_eq!(layout.close(number), closed);
                    // Beyond the group, the kernel distributes by hash: to ours too, if others have a single socket.
                    let led = |target: &u32| kernel.get(*target as usize).is_none_or(Option::is_none);
                    assert!(stable_others.iter().all(led), "after: {text}");
                    let beyond = stable_others.iter().any(|target| *target as usize >= kernel.len());
                    assert!(!beyond || others == 1, "{text}");
                }
                assert_eq!(kernel.len(), others);
                assert_eq!((layout.count_ours(), layout.others().len()), (0, others));
            }
        }
    }
}
