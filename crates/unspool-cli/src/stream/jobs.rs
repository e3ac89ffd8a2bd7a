//! Several replies in parallel: complete replies go to threads, and their answers come back in order.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::input::Next;
use super::reply::{Session, begins_reply};
use super::{lines, unread};
use crate::failure::Failure;

/// Replies in flight per thread: some are being parsed, some wait to be written in order.
const AHEAD: usize = 4;

/// The lines from one start to the next.
#[derive(Default)]
struct Task {
    number: u64,
    /// The number of lines before it.
    lines_before: u64,
    /// Lines as they are; `None`: one that is too long.
    lines: Vec<Option<Vec<u8>>>,
}

/// The end of a task or of the input.
enum Done {
    Task(u64, io::Result<Vec<u8>>),
    /// The input ended after this many tasks.
    End(u64, io::Result<()>),
}

/// Answers replies, each session in its own thread, until the input ends.
pub(super) fn run(sessions: Vec<Session>, longest: usize, mut output: impl Write) -> Result<(), Failure> {
    let (done, answers) = channel();
    let (tickets, free) = sync_channel(sessions.len() * AHEAD);
    let (tasks, queue) = channel();
    let queue = Arc::new(Mutex::new(queue));
    for session in sessions {
        let (queue, done) = (Arc::clone(&queue), done.clone());
        thread::spawn(move || work(session, longest, &queue, &done));
    }
    // The threads end with the process: this function returns when everything is written, or when the reader of the
    // output is gone.
    thread::spawn(move || {
        let mut source = Source { tasks, tickets, next: Task::default() };
        let read = source.read(longest);
        let _ = done.send(Done::End(source.next.number, read));
    });
    let (mut waiting, mut next, mut end) = (BTreeMap::new(), 0, None);
    while end != Some(next) {
        match answers.recv() {
            Ok(Done::Task(number, answer)) => {
                waiting.insert(number, answer);
            }
            Ok(Done::End(count, read)) => {
                read.map_err(|error| unread(&error))?;
                end = Some(count);
            }
            Err(_) => return Err(Failure::Io("a parser thread ended unexpectedly".to_owned())),
        }
        while let Some(answer) = waiting.remove(&next) {
            output.write_all(&answer?)?;
            next += 1;
            let _ = free.recv();
        }
        output.flush()?;
    }
    Ok(())
}

/// Splits the input into tasks.
struct Source {
    tasks: Sender<Task>,
    /// One for each task in flight.
    tickets: SyncSender<()>,
    next: Task,
}

impl Source {
    fn read(&mut self, longest: usize) -> io::Result<()> {
        let mut lines = lines(longest);
        loop {
            match lines.next()? {
                Next::End => {
                    self.send();
                    return Ok(());
                }
                Next::Line(line) => {
                    if begins_reply(line) && !self.send() {
                        return Ok(());
                    }
                    self.next.lines.push(Some(line.to_owned()));
                }
                Next::TooLong => self.next.lines.push(None),
            }
        }
    }

    /// Sends the lines so far. Returns whether there is a receiver.
    fn send(&mut self) -> bool {
        if self.next.lines.is_empty() {
            return true;
        }
        let (number, lines_before) = (self.next.number + 1, self.next.lines_before + self.next.lines.len() as u64);
        let task = std::mem::replace(&mut self.next, Task { number, lines_before, lines: Vec::new() });
        self.tickets.send(()).is_ok() && self.tasks.send(task).is_ok()
    }
}

fn work(mut session: Session, longest: usize, queue: &Mutex<Receiver<Task>>, done: &Sender<Done>) {
    loop {
        let task = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(task) = task else { return };
        let mut out = Vec::new();
        session.begin(task.lines_before);
        let answered = task.lines.iter().try_for_each(|line| match line {
            Some(line) => session.line(line, &mut out),
            None => session.too_long(longest, &mut out),
        });
        if done.send(Done::Task(task.number, answered.map(|()| out))).is_err() {
            return;
        }
    }
}
