//! The code of a job, put where its training jobs find it: the packed source, and the probe if it is wanted.

use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::archive::{self, ArchiveEntry};
use super::metrics::{probe, program};
use super::placing::output;
use super::prepared::ProbeWay;
use super::request::Script;
use super::session::JobSession;
use super::staging::{self, Existing};
use crate::aws::s3_uri::S3Uri;
use crate::backend::BackendError;
use crate::backend::project_paths::ProjectPaths;
use crate::backend::source::{self, Source};
use crate::spec::{Channel, ChannelSample, Distribution, InputMode, Job, ProbePolicy};

/// SageMaker's limit.
const MOST_CHANNELS: usize = 20;
/// Where sources and the probe are kept, below a job's output, under their hash.
const SOURCES: &str = "cg-source/";

impl JobSession<'_> {
    /// Packs and uploads the source, once under its hash, with the probe if it is wanted and can be had.
    pub(super) async fn place_code(&self) -> Result<(Option<Script>, ProbeWay), BackendError> {
        let job = self.job;
        let probe = self.probe_program();
        let training = &job.training;
        let mut way = ProbeWay::None;
        let channels = training.channels.len() + usize::from(training.sagemaker.network_isolation);
        let is_taken = training
            .channels
            .iter()
            .any(|channel| channel.name == probe::CHANNEL);
        if let ProbePolicy::Command(_) = &job.canary.probe
            && (channels >= MOST_CHANNELS || is_taken)
        {
            self.notes.set_lacks_probe(&format!(
                "it needs a channel of its own, {}, and {}",
                probe::CHANNEL,
                if is_taken {
                    "the job has a channel of that name"
                } else {
                    "the job has all 20 channels that SageMaker allows"
                }
            ));
        } else if let (ProbePolicy::Command(words), Some(program)) = (&job.canary.probe, &probe) {
            way = self.place_probe(words, program).await?;
        }
        if !is_script(job) {
            return Ok((None, way));
        }
        let found = find_source(&self.backend.paths, job)?;
        let mut files = Vec::with_capacity(found.files.len() + 2);
        for file in &found.files {
            files.push(entry(&found.folder, file)?);
        }
        let entry_point = training.sagemaker.entry_point.clone();
        let mut program_name = entry_point.clone().unwrap_or_default();
        if let (ProbePolicy::ScriptMode, Some(program), Some(entry_point)) =
            (&job.canary.probe, probe, entry_point)
        {
            files.push(ArchiveEntry::of_bytes(probe::FILE, true, program));
            let wrapper = probe::ENTRY.as_bytes().to_vec();
            files.push(ArchiveEntry::of_bytes(probe::ENTRY_FILE, false, wrapper));
            program_name = probe::ENTRY_FILE.to_owned();
            way = ProbeWay::Source { entry_point };
        }
        let packed = archive::pack(files)?;
        let place = output(job)?.below(&format!("{SOURCES}{}/sourcedir.tar.gz", packed.sha256_hex));
        self.keep(&place, packed.bytes, "application/gzip").await?;
        let script = Script {
            archive: place.to_string(),
            program: program_name,
        };
        Ok((Some(script), way))
    }

    /// The channel that brings the probe to a plain image.
    async fn place_probe(
        &self,
        words: &[String],
        program: &[u8],
    ) -> Result<ProbeWay, BackendError> {
        let command = match probe::container_command(words) {
            Ok(command) => command,
            Err(why) => {
                self.notes
                    .set_lacks_probe(&format!("canary.probe.command cannot be used: {why}"));
                return Ok(ProbeWay::None);
            }
        };
        let hash: String = Sha256::digest(program)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let folder = output(self.job)?.below(&format!("{SOURCES}{hash}/probe/"));
        let file = folder.below(probe::FILE);
        self.keep(&file, program.to_vec(), "application/octet-stream")
            .await?;
        Ok(ProbeWay::Channel {
            channel: Box::new(Channel {
                name: probe::CHANNEL.to_owned(),
                uri: folder.to_string(),
                mode: InputMode::File,
                content_type: None,
                distribution: Distribution::FullyReplicated,
                sample: ChannelSample::Whole,
                groups: Vec::new(),
            }),
            command,
        })
    }

    /// Puts what has its hash in its name, unless it is there.
    async fn keep(
        &self,
        place: &S3Uri,
        content: Vec<u8>,
        content_type: &str,
    ) -> Result<(), BackendError> {
        let job = self.job;
        let field = format!("jobs.{}.training.output", job.name);
        let key = job.training.sagemaker.output_kms_key.as_deref();
        let s3 = self.backend.aws().s3;
        staging::upload(
            &s3,
            &field,
            place,
            content,
            content_type,
            Existing::Keep,
            key,
        )
        .await
    }

    /// This program, where it is wanted in the container and would run there.
    pub(super) fn probe_program(&self) -> Option<Vec<u8>> {
        let job = self.job;
        if job.canary.probe == ProbePolicy::Off {
            return None;
        }
        let unfit = |why: String| self.notes.set_lacks_probe(&why);
        if !wants_probe(job) {
            unfit("the job has no entry_point that it could start; canary.probe: {command: […]} names what the image starts".to_owned());
            return None;
        }
        let bytes = match fs::read(&self.backend.program) {
            Ok(bytes) => bytes,
            Err(error) => {
                unfit(format!("this program's own file cannot be read ({error})"));
                return None;
            }
        };
        let kind = job.instance.single_type()?;
        match program::check_program(&bytes, kind) {
            Ok(()) => Some(bytes),
            Err(error) => {
                unfit(error.to_string());
                None
            }
        }
    }
}

/// Fails unless the job's source is there, with its entry point. Reads only what lies here.
pub fn check_source(paths: &ProjectPaths, job: &Job) -> Result<(), BackendError> {
    if is_script(job) {
        find_source(paths, job)?;
    }
    Ok(())
}

/// Whether canaries of the job are to have the probe: there is something that it could start.
pub(super) fn wants_probe(job: &Job) -> bool {
    match job.canary.probe {
        ProbePolicy::Off => false,
        ProbePolicy::ScriptMode => job.training.sagemaker.entry_point.is_some(),
        ProbePolicy::Command(_) => true,
    }
}

/// Whether the job has code of its own, beside its image.
fn is_script(job: &Job) -> bool {
    job.training.source_dir.is_some() || job.training.sagemaker.entry_point.is_some()
}

fn find_source(paths: &ProjectPaths, job: &Job) -> Result<Source, BackendError> {
    let found = source::find(paths, job)?;
    let Some(entry_point) = &job.training.sagemaker.entry_point else {
        return Ok(found);
    };
    if found
        .files
        .iter()
        .any(|file| file.as_os_str() == entry_point.as_str())
    {
        return Ok(found);
    }
    Err(BackendError::new(
        format!(
            "jobs.{}.training.entry_point: `{entry_point}` is not among the source files in {}",
            job.name,
            found.folder.display()
        ),
        "write its path from source_dir; only files that git knows, tracked or not ignored, are packed",
    ))
}

/// A file of the source; its name in the archive is its path from the source's folder.
fn entry(folder: &Path, file: &Path) -> Result<ArchiveEntry, BackendError> {
    let path = folder.join(file);
    let name = file.to_str().ok_or_else(|| {
        BackendError::new(
            format!("the name of {} is not UTF-8", path.display()),
            "rename it",
        )
    })?;
    ArchiveEntry::of_file(name.to_owned(), path)
}
