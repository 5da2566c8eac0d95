//! How many connections the system's limit of open files affords.

/// Files that the process needs beside connections: databases, logs, sockets of probes.
const RESERVED: usize = 100;

/// Returns how many client connections to take: `wanted`, or fewer where the limit of open files is too low for
/// each of them to have a connection to a backend as well. A client that waits is better off than a call that
/// fails for want of a socket.
pub(super) fn afford(wanted: usize) -> usize {
    // Only Linux has this file; elsewhere the limit is the operator's care.
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let Some(limit) = soft_limit(&limits) else { return wanted };
    let affordable = (limit.saturating_sub(RESERVED) / 2).max(1);
    if affordable < wanted {
        tracing::warn!(
            "the limit of open files is {limit}, so at most {affordable} of {wanted} connections are taken; raise it with ulimit -n or LimitNOFILE"
        );
    }
    affordable.min(wanted)
}

fn soft_limit(limits: &str) -> Option<usize> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests;
