//! Reads: what many entities stand for is read in parts, and sent in parts.

use p4runtime::p4::v1::{Entity, Error, ReadRequest, ReadResponse};
use p4runtime::status;
use tonic::Status;

use super::Server;
use crate::runtime::large_read::{self, Large};

/// Entities in one message of a read's answer, and read in one go.
const READ_CHUNK: usize = 1024;

impl Server {
    /// Reads what each entity of a request stands for in a turn of its own.
    pub(super) fn read_in_parts(
        &self,
        mut request: ReadRequest,
    ) -> (Vec<Entity>, Option<p4runtime::google::rpc::Status>) {
        if request.entities.len() < 2 {
            return self.read_one(&request);
        }
        let (mut found, mut outcomes) = (Vec::new(), Vec::new());
        for entity in std::mem::take(&mut request.entities) {
            request.entities = vec![entity];
            let (part, failed) = self.read_one(&request);
            found.extend(part);
            match failed {
                None => outcomes.push(Error::default()),
                Some(status) => match status::outcomes(&status).pop() {
                    Some(outcome) => outcomes.push(outcome),
                    // Refused whole: another device, or no pipeline.
                    None => return (found, Some(status)),
                },
            }
        }
        (found, status::batch(&outcomes))
    }

    /// Reads what one entity stands for; where that is many, in parts.
    fn read_one(&self, request: &ReadRequest) -> (Vec<Entity>, Option<p4runtime::google::rpc::Status>) {
        let large = self.now().large_read(request, READ_CHUNK);
        match large.and_then(|large| self.read_large(request, large)) {
            Some(all) => (all, None),
            // Not large, refused, or the program has changed meanwhile.
            None => self.now().read_each(request),
        }
    }

    fn read_large(&self, request: &ReadRequest, large: Large) -> Option<Vec<Entity>> {
        let mut all = Vec::new();
        match large {
            Large::Entries(tables) => {
                for (table, handles) in tables {
                    let mut found = Vec::with_capacity(handles.len());
                    for part in handles.chunks(READ_CHUNK) {
                        found.extend(self.now().read_entries(request, table, part)?);
                    }
                    all.extend(large_read::in_order(found));
                }
            }
            Large::Cells(arrays) => {
                for (array, cells) in arrays {
                    for first in (0..cells).step_by(READ_CHUNK) {
                        let part = first..cells.min(first + READ_CHUNK as u64);
                        all.extend(self.now().read_cells(request, array, part)?);
                    }
                }
            }
            Large::Numbered(requests) => {
                for part in requests.chunks(READ_CHUNK) {
                    all.extend(self.now().read_numbered(request, part)?);
                }
            }
        }
        Some(all)
    }
}

/// A read's answer in messages, each made when it is sent.
#[derive(Debug)]
pub struct Answers {
    pub(super) rest: std::vec::IntoIter<Entity>,
    pub(super) failed: Option<Status>,
}

impl Iterator for Answers {
    type Item = Result<ReadResponse, Status>;

    fn next(&mut self) -> Option<Self::Item> {
        // A list of its own for each message: one that was split off would keep room for all the others.
        let entities: Vec<Entity> = self.rest.by_ref().take(READ_CHUNK).collect();
        if entities.is_empty() {
            return self.failed.take().map(Err);
        }
        Some(Ok(ReadResponse { entities }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A full read of counters has over a hundred thousand cells: what waits to be sent must not grow with their square.
    #[test]
    fn a_message_of_a_read_has_no_room_for_others() {
        let cells = 100 * READ_CHUNK + 1;
        let failed = Some(Status::internal("the rest"));
        let answers = Answers { rest: vec![Entity::default(); cells].into_iter(), failed };
        let (mut sent, mut messages, mut ended) = (0, 0, false);
        for answer in answers {
            let Ok(answer) = answer else {
                ended = true;
                continue;
            };
            assert!(answer.entities.capacity() <= READ_CHUNK, "{}", answer.entities.capacity());
            assert!(!ended, "the failure comes last");
            sent += answer.entities.len();
            messages += 1;
        }
        assert_eq!((sent, messages, ended), (cells, 101, true));
    }
}
