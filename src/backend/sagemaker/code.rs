//! The code of a job, put where its training jobs find it: the packed source, and the probe if it is wanted.

use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::archive::{self, ArchiveEntry};
use super::metrics::{probe, program};
use super::placing::output;
use super::ready_job::{PlacedCode, ProbeWay};
use super::request::Script;
use super::session::JobSession;
use super::source_channel::{SOURCES, whole_channel};
use super::staging::{self, Existing};
use crate::aws::s3_uri::S3Uri;
use crate::backend::BackendError;
use crate::backend::project_paths::ProjectPaths;
use crate::backend::source::{self, Source};
use crate::instance::InstanceConfiguration;
use crate::spec::{Job, ProbePolicy};

/// SageMaker's limit.
const MOST_CHANNELS: usize = 20;
/// The packages that the training toolkit installs before it starts the script.
const REQUIREMENTS: &str = "requirements.txt";

impl JobSession<'_> {
    /// Packs and uploads the source, once under its hash, with the probe if it is wanted and can be had.
    pub(super) async fn place_code(&self) -> Result<PlacedCode, BackendError> {
        let job = self.job;
        let probe = self.probe_program();
        let training = &job.training;
        let mut way = ProbeWay::None;
        let of_script = is_script(job) && training.sagemaker.network_isolation;
        let of_source = training.sagemaker.source_channel.is_some();
        let channels = training.channels.len() + usize::from(of_script || of_source);
        let is_taken = training
            .channels
            .iter()
            .any(|channel| channel.name == probe::CHANNEL);
        let started = started(job);
        if started.is_some() && (channels >= MOST_CHANNELS || is_taken) {
            self.notes.set_lacks_probe(&format!(
                "it needs a channel of its own, {}, and {}",
                probe::CHANNEL,
                if is_taken {
                    "the job has a channel of that name"
                } else {
                    "the job has all 20 channels that SageMaker allows"
                }
            ));
        } else if let (Some(words), Some(program)) = (&started, &probe) {
            way = self.place_probe(words, program).await?;
        }
        if !has_source(job) {
            return Ok(PlacedCode {
                script: None,
                source: None,
                probe: way,
            });
        }
        let found = find_source(&self.backend.paths, job)?;
        let mut files = Vec::with_capacity(found.files.len() + 2);
        for file in &found.files {
            files.push(ArchiveEntry::of_file(file.clone())?);
        }
        if let Some(channel) = &training.sagemaker.source_channel {
            let packed = archive::pack(files)?;
            return Ok(PlacedCode {
                script: None,
                source: Some(self.place_source(channel, &packed).await?),
                probe: way,
            });
        }
        let entry_point = training.sagemaker.entry_point.clone();
        let mut program_name = entry_point.clone().unwrap_or_default();
        if let (None, Some(program), Some(entry_point)) = (&started, probe, entry_point) {
            files.push(ArchiveEntry::of_bytes(probe::FILE, true, program));
            let wrapper = probe::ENTRY.as_bytes().to_vec();
            files.push(ArchiveEntry::of_bytes(probe::ENTRY_FILE, false, wrapper));
            program_name = probe::ENTRY_FILE.to_owned();
            way = ProbeWay::Source {
                entry_point,
                has_requirements: found
                    .files
                    .iter()
                    .any(|file| file.name == Path::new(REQUIREMENTS)),
            };
        }
        let packed = archive::pack(files)?;
        let place = output(job)?.below(&format!("{SOURCES}{}/sourcedir.tar.gz", packed.sha256_hex));
        self.keep(&place, packed.bytes, "application/gzip").await?;
        let script = Script {
            archive: place.to_string(),
            program: program_name,
        };
        Ok(PlacedCode {
            script: Some(script),
            source: None,
            probe: way,
        })
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
                self.notes.set_lacks_probe(&format!(
                    "the command that it would start cannot be used: {why}"
                ));
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
            channel: Box::new(whole_channel(probe::CHANNEL, folder.to_string())),
            command,
        })
    }

    /// Puts what has its hash in its name, unless it is there.
    pub(super) async fn keep(
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
            unfit(nothing_to_start(job).to_owned());
            return None;
        }
        let bytes = match fs::read(&self.backend.program) {
            Ok(bytes) => bytes,
            Err(error) => {
                unfit(format!("this program's own file cannot be read ({error})"));
                return None;
            }
        };
        // One program is for the machines of all groups, as one image is.
        for (kind, _) in job.instance.members() {
            if let Err(error) = program::check_program(&bytes, kind) {
                unfit(error.to_string());
                return None;
            }
        }
        Some(bytes)
    }
}

/// Fails unless the job's source is there, with its entry point. Reads only what lies here.
pub fn check_source(paths: &ProjectPaths, job: &Job) -> Result<(), BackendError> {
    if has_source(job) {
        find_source(paths, job)?;
    }
    Ok(())
}

/// Whether canaries of the job are to have the probe: there is something that it could start.
pub(super) fn wants_probe(job: &Job) -> bool {
    match job.canary.probe {
        ProbePolicy::Off => false,
        ProbePolicy::ScriptMode => job.training.sagemaker.has_known_start(),
        ProbePolicy::Command(_) => job.training.sagemaker.algorithm.is_none(),
    }
}

/// Why there is nothing for the probe to start. It may stand in the report's first line.
fn nothing_to_start(job: &Job) -> &'static str {
    if job.training.sagemaker.algorithm.is_some() {
        "an algorithm takes its own channels only, so that it cannot come into the container"
    } else {
        "the job has no entry_point that it could start; canary.probe: {command: […]} names what the image starts"
    }
}

/// The words that the probe starts in place of the container; `None` where it starts the script of an entry point, or nothing.
fn started(job: &Job) -> Option<Vec<String>> {
    let container = &job.training.sagemaker.container;
    match &job.canary.probe {
        _ if !wants_probe(job) => None,
        ProbePolicy::Off => None,
        ProbePolicy::ScriptMode => container.command(),
        // What the image's own entry point would get.
        ProbePolicy::Command(words) => Some([&words[..], &container.arguments].concat()),
    }
}

/// Whether the job's code is an archive that the image's toolkit unpacks.
fn is_script(job: &Job) -> bool {
    let training = &job.training;
    (training.source_dir.is_some() || training.sagemaker.entry_point.is_some())
        && training.sagemaker.source_channel.is_none()
}

/// Whether the job has code of its own, beside its image.
fn has_source(job: &Job) -> bool {
    is_script(job) || job.training.sagemaker.source_channel.is_some()
}

fn find_source(paths: &ProjectPaths, job: &Job) -> Result<Source, BackendError> {
    let found = source::find(paths, job)?;
    let own = job.training.sagemaker.entry_point.as_deref();
    let of_groups = |field: String, instance: &'_ InstanceConfiguration| {
        let script = instance.entry_point()?.to_owned();
        Some((format!("{field}.entry_point"), script))
    };
    let alternatives = job.alternatives.iter().enumerate();
    let scripts = own
        .map(|script| ("training.entry_point".to_owned(), script.to_owned()))
        .into_iter()
        .chain(of_groups("instance".to_owned(), &job.instance))
        .chain(alternatives.filter_map(|(at, one)| of_groups(format!("alternatives[{at}]"), one)));
    for (field, script) in scripts {
        let mut files = found.files.iter();
        if !files.any(|file| file.name.as_os_str() == script.as_str()) {
            return Err(BackendError::new(
                format!(
                    "jobs.{}.{field}: `{script}` is not among the source files in {}",
                    job.name,
                    found.folder.display()
                ),
                "write its path from source_dir; only files that count are packed: those that git tracks or does not ignore, and that no `!` of `paths` leaves out",
            ));
        }
    }
    Ok(found)
}
