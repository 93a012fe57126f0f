//! Packets in pcap files: recordings of what passed, and files in the interfaces' place.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use miette::{IntoDiagnostic as _, Result, WrapErr as _, miette};
use pcap_file::pcap::{PcapPacket, PcapReader, PcapWriter};

/// A pcap file being written.
pub struct Recording {
    path: PathBuf,
    writer: PcapWriter<BufWriter<File>>,
}

impl Recording {
    /// `name_way.pcap` in a folder; what it held is gone.
    pub fn create(folder: &Path, name: &str, way: &str) -> Result<Recording> {
        let path = folder.join(format!("{name}_{way}.pcap"));
        let file = File::create(&path)
            .into_diagnostic()
            .wrap_err_with(|| format!("{} can't be written", path.display()))?;
        let writer = PcapWriter::new(BufWriter::new(file))
            .map_err(|error| miette!("{} can't be written: {error}", path.display()))?;
        Ok(Recording { path, writer })
    }

    /// One frame, at the present time.
    pub fn write(&mut self, octets: &[u8]) -> Result<()> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        let length = u32::try_from(octets.len()).unwrap_or(u32::MAX);
        let packet = PcapPacket::new(now, length, octets);
        let written = self.writer.write_packet(&packet);
        written.map(drop).map_err(|error| miette!("{}: {error}", self.path.display()))
    }

    /// Everything written so far can be read.
    pub fn flush(self) -> Result<()> {
        let path = self.path;
        self.writer.into_writer().flush().into_diagnostic().wrap_err_with(|| path.display().to_string())
    }
}

/// A port's packets, from `name_in.pcap`.
pub struct Source {
    path: PathBuf,
    reader: PcapReader<BufReader<File>>,
    next: Option<(Duration, Vec<u8>)>,
}

impl Source {
    /// Opens the file and looks at its first packet.
    pub fn open(name: &str) -> Result<Source> {
        let path = PathBuf::from(format!("{name}_in.pcap"));
        let file = File::open(&path)
            .into_diagnostic()
            .wrap_err_with(|| format!("{} can't be read", path.display()))?;
        let reader = PcapReader::new(BufReader::new(file))
            .map_err(|error| miette!("{} is no pcap file: {error}", path.display()))?;
        let mut source = Source { path, reader, next: None };
        source.look()?;
        Ok(source)
    }

    /// When the next packet was recorded; `None` after the last.
    pub fn next_at(&self) -> Option<Duration> {
        self.next.as_ref().map(|&(at, _)| at)
    }

    /// The next packet.
    pub fn take(&mut self) -> Result<Option<Vec<u8>>> {
        let taken = self.next.take().map(|(_, octets)| octets);
        self.look()?;
        Ok(taken)
    }

    fn look(&mut self) -> Result<()> {
        self.next = match self.reader.next_packet() {
            None => None,
            Some(Ok(packet)) => Some((packet.timestamp, packet.data.into_owned())),
            Some(Err(error)) => return Err(miette!("{}: {error}", self.path.display())),
        };
        Ok(())
    }
}
