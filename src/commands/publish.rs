//! Where a command puts its report: to standard output in one format, to files in others, to a service as our text there.

use std::path::{Path, PathBuf};

use crate::cli::{OutputArguments, VerdictArguments};
use crate::console::{AppError, AppResult, Loudness, files, print, printable, say, terminal};
use crate::exit::Strictness;
use crate::github::{Forge, ForgeError, PostText, Publication, Published};
use crate::grammar;
use crate::report::format::ReportFormat;
use crate::report::template::Template;
use crate::report::terminal::{ReportDepth, TerminalStyle};
use crate::report::{Report, markdown};
use crate::spec::{OnInconclusive, Spec};

/// The strictness of the exit code, by the flag, else by the spec.
pub(crate) fn strictness(arguments: &VerdictArguments, spec: &Spec) -> Strictness {
    Strictness {
        strict: arguments.strict || spec.strict,
        on_inconclusive: arguments
            .on_inconclusive
            .map_or(spec.on_inconclusive, OnInconclusive::from),
    }
}

/// Makes a text stand at a service. What went wrong without harm is said.
pub(crate) async fn posted(
    forge: &Forge,
    publication: &Publication,
    text: &PostText<'_>,
) -> Result<Published, ForgeError> {
    let now = jiff::Timestamp::now();
    let published = publication.publish(forge, text, now).await?;
    for note in &published.notes {
        say(&format!("note: {}", printable(note)));
    }
    Ok(published)
}

/// The format, files and template that a command line names for its report, checked before anything is spent.
#[derive(Debug)]
pub(crate) struct ReportOutput<'a> {
    arguments: &'a OutputArguments,
    files: Vec<(&'a Path, ReportFormat)>,
    root: PathBuf,
    /// The layout of Markdown; `None`: ours.
    pub(crate) template: Option<Template>,
    loudness: Loudness,
}

impl<'a> ReportOutput<'a> {
    /// Checks the template, and each path: its kind, that it is no link, and that its folder is there.
    pub(crate) fn prepare(
        arguments: &'a OutputArguments,
        root: &Path,
        loudness: Loudness,
    ) -> AppResult<Self> {
        let mut files = Vec::new();
        for path in &arguments.outputs {
            let extension = path.extension().and_then(|extension| extension.to_str());
            let format = extension.and_then(ReportFormat::of_extension);
            let format = format.ok_or_else(|| {
                let extensions = grammar::choice(&ReportFormat::extensions());
                AppError::usage(format!(
                    "`--output {}`: the extension names no report format",
                    path.display()
                ))
                .help(format!("name it {extensions}"))
            })?;
            files::check_target(path, root)?;
            files.push((path.as_path(), format));
        }
        let template = arguments.template.as_deref().map(files::read_template);
        Ok(Self {
            arguments,
            files,
            root: root.to_owned(),
            template: template.transpose()?,
            loudness,
        })
    }

    /// Publishes what a command found. Returns the exit code, or the command's error with that code. The report is printed even
    /// if a file cannot be written.
    pub(crate) fn publish_found(&self, report: &Report, failed: Option<AppError>) -> AppResult<u8> {
        let written = self.publish(report);
        // Whoever reads both has read it above.
        let is_said = self.arguments.format.is_for_terminal() && terminal::is_shared();
        let Some(error) = failed.filter(|_| !is_said) else {
            return written;
        };
        // Where there are two errors, the job's is returned and the other is printed.
        if let Err(unwritten) = written {
            say(unwritten.render_beside(false).trim_end());
        }
        Err(error.ending_with(report.exit_code))
    }

    /// Publishes a report, and returns its exit code. It is printed first, so that a file that cannot be written does not suppress it.
    pub(crate) fn publish(&self, report: &Report) -> AppResult<u8> {
        let style = TerminalStyle {
            colours: terminal::colours_on_stdout(),
            width: terminal::stdout_width(),
            depth: match self.arguments.details {
                true => ReportDepth::Whole,
                false => ReportDepth::Brief,
            },
        };
        let render = |format: ReportFormat, style| match &self.template {
            Some(template) if format.is_markdown() => markdown::render_by(template, report),
            _ => format.render(report, style),
        };
        print(&render(self.arguments.format, style))?;
        let mut done = Ok(report.exit_code);
        for (path, format) in &self.files {
            let text = render(*format, TerminalStyle::default());
            let written = files::write_asked(path, text.as_bytes(), &self.root, self.loudness);
            // A file that cannot be written does not prevent the others.
            done = done.and_then(|code| written.map(|()| code));
        }
        done
    }
}
