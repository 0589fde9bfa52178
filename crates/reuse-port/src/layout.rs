//! How the kernel numbers the sockets of a group.

/// The sockets of a group in the order of their numbers: which of them are ours.
///
/// They are numbered as they joined, and when one closes, the last takes its number (`reuseport_detach_sock` in
/// net/core/sock_reuseport.c). So what others do at the same time changes more than their own numbers, but one who joins
/// changes none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// For each number, which of our sockets that is; nothing for those of others.
    places: Vec<Option<usize>>,
}

impl Layout {
    pub(crate) fn new(places: Vec<Option<usize>>) -> Self {
        Self { places }
    }

    /// The numbers of the others' sockets.
    pub(crate) fn others(&self) -> Vec<u32> {
        self.numbers(|place| place.is_none())
    }

    /// The number of ours that is closed next: the highest.
    pub(crate) fn next_to_close(&self) -> Option<usize> {
        self.places.iter().rposition(Option::is_some)
    }

    /// How many of ours there are.
    pub(crate) fn count_ours(&self) -> usize {
        self.places.iter().flatten().count()
    }

    /// The numbers that are others' sockets while the next of ours is closed: before, and after. Where there is only one
    /// socket of others, it may be that none is; then the one that is right before.
    pub(crate) fn lasting(&self) -> Vec<u32> {
        let mut others = self.others();
        let last = self.places.len().saturating_sub(1);
        if others.len() > 1 {
            // It gets the number of what is closed.
            others.retain(|number| *number as usize != last);
        }
        others
    }

    /// The socket with this number is closed; says which of ours it was.
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
    fn what_is_closed_next_and_what_lasts_meanwhile() {
        // Ours are `o`; the number that is closed next, and the numbers that are right before and after.
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
        for (text, next, lasting) in cases {
            let layout = layout(text);
            assert_eq!((layout.next_to_close(), &layout.lasting()[..]), (next, lasting), "{text}");
        }
    }

    /// All groups of up to seven sockets are left, and the kernel's own list is kept beside.
    #[test]
    fn nobody_is_led_to_a_socket_of_ours_while_they_close() {
        for size in 1..=7_u32 {
            for ours in 0..1_u32 << size {
                let text: String = (0..size).map(|bit| if ours >> bit & 1 == 1 { 'o' } else { '.' }).collect();
                let mut layout = layout(&text);
                let mut kernel = layout.places.clone();
                let others = layout.others().len();
                while let Some(number) = layout.next_to_close() {
                    let lasting = layout.lasting();
                    assert!(lasting.iter().all(|target| kernel[*target as usize].is_none()), "before: {text}");
                    assert_eq!(lasting.is_empty(), others == 0, "{text}");
                    let closed = kernel.swap_remove(number);
                    assert_eq!(layout.close(number), closed);
                    // Beyond the group, the kernel deals out by hash: to ours too, where others have but one socket.
                    let led = |target: &u32| kernel.get(*target as usize).is_none_or(Option::is_none);
                    assert!(lasting.iter().all(led), "after: {text}");
                    let beyond = lasting.iter().any(|target| *target as usize >= kernel.len());
                    assert!(!beyond || others == 1, "{text}");
                }
                assert_eq!(kernel.len(), others);
                assert_eq!((layout.count_ours(), layout.others().len()), (0, others));
            }
        }
    }
}
