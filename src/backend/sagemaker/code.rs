//! The code of a job, put where its training jobs find it: the packed source, and the probe if it is wanted.

use std::fs;
use std::path::Path;

use futures_util::{StreamExt, TryStreamExt, stream};

use super::archive::{self, LARGEST_SOURCE, OwnFile};
use super::metrics::{probe, program};
use super::placing::output;
use super::ready::{PlacedCode, wants_probe};
use super::request::{Script, whole_channel};
use super::{JobObjects, JobSession, ProbeWay};
use crate::backend::project_paths::ProjectPaths;
use crate::backend::source::{self, Source, SourceFile};
use crate::outside_error::{OutsideError, OutsideResult};
use crate::spec::{Channel, Job, ProbePolicy};

/// Where sources and the probe are kept, below a job's output, under their hash.
const SOURCES: &str = "cg-source/";
/// Uploads at a time.
const UPLOADS: usize = 16;
const BINARY: &str = "application/octet-stream";
/// SageMaker's limit.
const MOST_CHANNELS: usize = 20;
/// The packages that the training toolkit installs before it starts the script.
const REQUIREMENTS: &str = "requirements.txt";

impl JobSession<'_> {
    /// Uploads the source, once under its hash, with the probe if it is wanted and can be had: as an archive that the image's
    /// toolkit unpacks, or as files on a channel.
    pub(super) async fn place_code(&self) -> OutsideResult<PlacedCode> {
        let job = self.job;
        let keys = &job.training.sagemaker;
        let program = self.probe_program();
        let started = started(job);
        let mut placed = match (&started, &program) {
            (Some(words), Some(program)) => self.place_probe(words, program).await?,
            _ => PlacedCode::default(),
        };
        if !has_source(job) {
            return Ok(placed);
        }
        let files = find_source(&self.backend.paths, job)?.files;
        if let Some(channel) = &keys.source_channel {
            let source = self.place_source(channel, &files).await?;
            placed.source = Some(source.uri.clone());
            placed.channels.insert(0, source);
            return Ok(placed);
        }
        let mut script = keys.entry_point.clone().unwrap_or_default();
        let mut own = Vec::new();
        if let (None, Some(program), Some(entry_point)) = (&started, &program, &keys.entry_point) {
            let file = |name, is_executable, bytes| OwnFile {
                name,
                is_executable,
                bytes,
            };
            own.push(file(probe::FILE, true, program.as_slice()));
            own.push(file(probe::ENTRY_FILE, false, probe::ENTRY.as_bytes()));
            script = probe::ENTRY_FILE.to_owned();
            let mut names = files.iter().map(|file| &file.name);
            placed.probe = ProbeWay::Source {
                entry_point: entry_point.clone(),
                has_requirements: names.any(|name| name == Path::new(REQUIREMENTS)),
            };
        }
        let packed = archive::pack(&files, &own, LARGEST_SOURCE)?;
        let hash = archive::sha256_hex(&packed);
        let below = format!("{hash}/sourcedir.tar.gz");
        let archive = self.keep(&below, packed, "application/gzip").await?;
        placed.source = Some(archive.clone());
        placed.script = Some(Script {
            archive,
            program: script,
        });
        Ok(placed)
    }

    /// Puts something below the job's output, under a hash of it, unless it is there; returns its address.
    async fn keep(&self, below: &str, content: Vec<u8>, kind: &str) -> OutsideResult<String> {
        let place = output(self.job)?.below(&format!("{SOURCES}{below}"));
        let objects = JobObjects::of_output(self.backend.aws().s3, self.job);
        objects.keep(&place, content, kind).await?;
        Ok(place.to_string())
    }

    /// A channel that brings what lies in a folder of these.
    fn own_channel(&self, name: &str, folder: &str) -> OutsideResult<Channel> {
        let folder = output(self.job)?.below(&format!("{SOURCES}{folder}"));
        Ok(whole_channel(name, folder.to_string()))
    }

    /// Uploads the files of the source, as the Python SDK v3 hands it over: below `/opt/ml/input/data/<channel>/`. Their archive's hash
    /// names the place; a file that has changed since then is refused.
    async fn place_source(&self, channel: &str, files: &[SourceFile]) -> OutsideResult<Channel> {
        let hash = archive::sha256_hex(&archive::pack(files, &[], LARGEST_SOURCE)?);
        let folder = format!("{hash}/files/");
        let put = async |file: &SourceFile| {
            let place = format!("{folder}{}", archive::name_of(file)?);
            let mut content = Vec::new();
            file.read(|part| {
                content.extend_from_slice(part);
                Ok(())
            })?;
            self.keep(&place, content, BINARY).await.map(drop)
        };
        let uploads = stream::iter(files).map(put).buffer_unordered(UPLOADS);
        uploads.try_collect::<()>().await?;
        self.own_channel(channel, &folder)
    }

    /// Uploads the probe for a plain image, which gets it on a channel of its own around what it starts.
    async fn place_probe(&self, words: &[String], program: &[u8]) -> OutsideResult<PlacedCode> {
        let (job, name) = (self.job, probe::CHANNEL);
        let channels = &job.training.channels;
        let keys = &job.training.sagemaker;
        let with_code = is_script(job) && keys.network_isolation || keys.source_channel.is_some();
        let has_channel = channels.iter().any(|channel| channel.name == name);
        let why = if has_channel || channels.len() + usize::from(with_code) >= MOST_CHANNELS {
            Some(
                "it needs a channel of its own, canary-gate, and the job has one of that name, or all 20 channels that SageMaker allows",
            )
        } else {
            (!probe::takes_command(words)).then_some(
                "SageMaker takes at most 100 words of 1 to 256 characters, which the command that it would start is not",
            )
        };
        if let Some(why) = why {
            self.notes.set_lacks_probe(why);
            return Ok(PlacedCode::default());
        }
        let folder = format!("{}/probe/", archive::sha256_hex(program));
        let place = format!("{folder}{}", probe::FILE);
        self.keep(&place, program.to_vec(), BINARY).await?;
        Ok(PlacedCode {
            channels: vec![self.own_channel(name, &folder)?],
            probe: ProbeWay::Channel(words.to_vec()),
            ..PlacedCode::default()
        })
    }

    /// This program, where it is wanted in the container and would run there.
    pub(super) fn probe_program(&self) -> Option<Vec<u8>> {
        let job = self.job;
        if job.canary.probe == ProbePolicy::Off {
            return None;
        }
        let program = fit_program(job, &self.backend.program);
        program
            .inspect_err(|why| self.notes.set_lacks_probe(why))
            .ok()
    }
}

/// Fails unless the job's source is there, with its entry point. Reads only what lies here.
pub fn check_source(paths: &ProjectPaths, job: &Job) -> OutsideResult<()> {
    if has_source(job) {
        find_source(paths, job)?;
    }
    Ok(())
}

/// The bytes of a program that would run as the probe of a job, else why there is none.
fn fit_program(job: &Job, program: &Path) -> Result<Vec<u8>, String> {
    if !wants_probe(job) {
        // It may stand in the report's first line.
        let why = match job.training.sagemaker.algorithm {
            Some(_) => {
                "an algorithm takes its own channels only, so that it cannot come into the container"
            }
            None => {
                "the job has no entry_point that it could start; canary.probe: {command: […]} names what the image starts"
            }
        };
        return Err(why.to_owned());
    }
    let unread =
        |error: std::io::Error| format!("this program's own file cannot be read ({error})");
    let bytes = fs::read(program).map_err(unread)?;
    // One program is for the machines of all groups, as one image is.
    let mut kinds = job.instance.members().into_iter();
    kinds.try_for_each(|(kind, _)| program::check_program(&bytes, kind))?;
    Ok(bytes)
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

fn find_source(paths: &ProjectPaths, job: &Job) -> OutsideResult<Source> {
    let found = source::find(paths, job)?;
    let own = job.training.sagemaker.entry_point.as_deref();
    let own = own.map(|script| ("training".to_owned(), script));
    let of_groups = (job.keyed_configurations())
        .filter_map(|(field, instance)| Some((field, instance.entry_point()?)));
    for (field, script) in own.into_iter().chain(of_groups) {
        let mut files = found.files.iter();
        if !files.any(|file| file.name.as_os_str() == script) {
            return Err(OutsideError::of(format!(
                "jobs.{}.{field}.entry_point: `{script}` is not among the source files in {}",
                job.name,
                found.folder.display()
            ))
            .help("write its path from source_dir; only files that count are packed: those that git tracks or does not ignore, and that no `!` of `paths` leaves out"));
        }
    }
    Ok(found)
}
