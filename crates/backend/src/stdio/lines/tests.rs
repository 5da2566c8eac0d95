//! Lines from output of all kinds.

use super::*;

async fn read(output: &[u8]) -> Vec<Result<String, &'static str>> {
    let mut lines = Lines::new(output, Budget::default());
    let mut found = Vec::new();
    while let Some(line) = lines.next().await.transpose() {
        let is_last = line.is_err();
        found.push(line.map(|line| String::from_utf8_lossy(&line).into_owned()));
        if is_last {
            break;
        }
    }
    found
}

#[tokio::test]
async fn lines_end_where_they_should() {
    for (output, expected) in [
        ("", vec![]),
        ("{}\n", vec!["{}"]),
        ("{}\r\n\n  \r\n{\"a\":1}\n", vec!["{}", "{\"a\":1}"]),
        ("whole\nbegun", vec!["whole"]),
    ] {
        let expected: Vec<_> = expected.into_iter().map(|line| Ok(line.to_owned())).collect();
        assert_eq!(read(output.as_bytes()).await, expected, "{output:?}");
    }
}

#[tokio::test]
async fn long_lines_come_whole() {
    let long = "x".repeat(MAX_LINE_BYTES);
    let output = format!("a\n{long}\nb\n");
    let found = read(output.as_bytes()).await;
    assert_eq!(found.len(), 3);
    assert_eq!(found[1].as_ref().unwrap().len(), MAX_LINE_BYTES);
    assert_eq!(found[2], Ok("b".into()));
}

#[tokio::test]
async fn endless_lines_are_given_up() {
    let mut lines = Lines::new(tokio::io::repeat(b'x'), Budget::default());
    assert!(lines.next().await.unwrap_err().contains("16 MiB"));
    assert!(lines.buffer.capacity() < 3 * MAX_LINE_BYTES, "{}", lines.buffer.capacity());
}

#[tokio::test]
async fn long_lines_share_a_budget() {
    let budget = Budget::of_kib(1024);
    let output = format!("{}\n", "x".repeat(600 * 1024));
    let mut first = Lines::new(output.as_bytes(), budget.clone());
    let held = first.next().await.unwrap().unwrap();
    let mut second = Lines::new(output.as_bytes(), budget);
    assert!(second.next().await.unwrap_err().contains("too many"));
    drop(held);
    let budget = second.budget.clone();
    let mut third = Lines::new(output.as_bytes(), budget);
    second.share = None;
    assert!(third.next().await.is_ok());
}
