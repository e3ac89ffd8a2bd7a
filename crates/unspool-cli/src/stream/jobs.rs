//! Several replies at once: whole ones go to threads, and their answers come back in order.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::input::Next;
use super::reply::{Session, begins_reply};
use super::{lines, unread};
use crate::failure::Failure;

/// Replies that are under way, for each thread: some are read, some wait to be written in order.
const AHEAD: usize = 4;

/// The lines from one start up to the next.
#[derive(Default)]
struct Task {
    number: u64,
    /// The lines before it.
    lines_before: u64,
    /// Lines as they stand; `None`: one that is too long.
    lines: Vec<Option<Vec<u8>>>,
}

/// What becomes of a task, or of the input.
enum Done {
    Task(u64, io::Result<Vec<u8>>),
    /// The input is over after so many tasks.
    End(u64, io::Result<()>),
}

/// Answers replies, each session in a thread of its own, until the input ends.
pub(super) fn run(sessions: Vec<Session>, longest: usize, mut output: impl Write) -> Result<(), Failure> {
    let (done, answers) = channel();
    let (tickets, free) = sync_channel(sessions.len() * AHEAD);
    let (tasks, queue) = channel();
    let queue = Arc::new(Mutex::new(queue));
    for session in sessions {
        let (queue, done) = (Arc::clone(&queue), done.clone());
        thread::spawn(move || work(session, longest, &queue, &done));
    }
    // The threads end with the process: this one returns when all is written, or when nobody takes it any more.
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
            Err(_) => return Err(Failure::Io("a thread that reads replies has ended".to_owned())),
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

/// Cuts the input into tasks.
struct Source {
    tasks: Sender<Task>,
    /// One for each task that is under way.
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

    /// Sends the lines so far; whether anybody takes them.
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
