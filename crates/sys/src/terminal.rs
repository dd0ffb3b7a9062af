//! What the terminal is like.
use std::os::fd::{AsFd, AsRawFd};

/// Characters that a line of this terminal holds; `None` if it is none, or does not say.
pub fn columns(terminal: &impl AsFd) -> Option<usize> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the descriptor is open as long as it is borrowed, and TIOCGWINSZ only writes the struct, which is its own.
    let done = unsafe { libc::ioctl(terminal.as_fd().as_raw_fd(), libc::TIOCGWINSZ, &raw mut size) };
    (done == 0 && size.ws_col > 0).then(|| usize::from(size.ws_col))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_file_has_no_columns() {
        assert_eq!(super::columns(&std::fs::File::open("/dev/null").unwrap()), None);
    }
}
