//! Templates: investigations that begin with questions, each with the recipe that answers it.

use serde::Serialize;

use super::{BlockContent, InvestigationError, refused};

/// A template, as it is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct InvestigationTemplate {
    /// By what it is asked for.
    pub name: &'static str,
    /// What an investigation that begins with it is called.
    pub title: &'static str,
}

struct Template {
    listed: InvestigationTemplate,
    begins: &'static str,
    steps: &'static [(&'static str, &'static str)],
    tasks: &'static [&'static str],
}

static TEMPLATES: [Template; 4] = [
    Template {
        listed: InvestigationTemplate { name: "slow-service", title: "A service is slow" },
        begins: "**What is slow?** Which requests, since when, and how slow is usual. Write it down before anything is recorded.",
        steps: &[
            (
                "process-time",
                "**Where does its time go?** On a CPU: the flame graph says in which functions. Off it: the next question.",
            ),
            (
                "waiting",
                "**What does it wait for?** States of its threads, who wakes them, and stacks of threads that go to sleep.",
            ),
            (
                "disk",
                "**Is it the disk?** Every request from its issue to its end, who sleeps meanwhile, and the system calls for it.",
            ),
            (
                "network",
                "**Is it the network?** Segments that were sent again, packets that were dropped, and calls on sockets that took long.",
            ),
        ],
        tasks: &[
            "Compare with a capture of a time when it was not slow",
            "Write the cause into the conclusion, with the view that shows it",
        ],
    },
    Template {
        listed: InvestigationTemplate { name: "slow-machine", title: "The machine is slow" },
        begins: "**Who says so, and since when?** The start page tells pressure on CPU, memory and I/O now.",
        steps: &[
            ("machine", "**What is it doing?** Who runs and where, who waits for a CPU, and what memory is used for."),
            (
                "waiting",
                "**Who waits for whom?** Sleeps and wake-ups with their stacks: choose a process that is slow.",
            ),
            ("disk", "**Does everything wait for a disk?** Requests, their latency, and who issued them."),
            ("memory", "**Whose memory grows?** New pages by stack: choose the process that grows on the start page."),
        ],
        tasks: &["Say which process it is, and what it does more than before"],
    },
    Template {
        listed: InvestigationTemplate { name: "memory-grows", title: "Memory grows" },
        begins: "**How fast does it grow, and does it ever fall?** Two captures at a distance tell more than a long one.",
        steps: &[
            (
                "memory",
                "**Which code touches new memory?** New pages by stack, and the calls that map, grow and return memory.",
            ),
            (
                "process-time",
                "**What is it doing meanwhile?** Growth with work is a queue or a cache; growth without work is a leak.",
            ),
        ],
        tasks: &[
            "Record again after a while, and compare the flame graphs",
            "Say what holds the memory, and until when it should",
        ],
    },
    Template {
        listed: InvestigationTemplate { name: "disk-writes", title: "The disk is full of writes" },
        begins: "**Which disk, and how much?** The start page lists disks and processes by what they write.",
        steps: &[
            (
                "disk",
                "**Who writes?** Every request from its issue to its end, and the system calls that write and sync, with their files.",
            ),
            (
                "process-time",
                "**Why does it write?** System calls of the process that writes most, with their files and stacks.",
            ),
        ],
        tasks: &[
            "Say which file grows, and who asked for it",
            "Say whether it may be written less often, or not at all",
        ],
    },
];

/// All templates.
pub fn templates() -> Vec<InvestigationTemplate> {
    TEMPLATES.iter().map(|template| template.listed).collect()
}

fn found(name: &str) -> Option<&'static Template> {
    TEMPLATES.iter().find(|template| template.listed.name == name)
}

/// The title of a template that is named.
pub(super) fn title_of(name: Option<&str>) -> Option<&'static str> {
    name.and_then(found).map(|template| template.listed.title)
}

/// The blocks of a template.
pub(super) fn blocks_of(name: &str) -> Result<Vec<BlockContent>, InvestigationError> {
    let names = || TEMPLATES.iter().map(|template| template.listed.name).collect::<Vec<_>>().join(", ");
    let template = found(name).ok_or_else(|| {
        let named = bathyscope_capture::visible(name.as_bytes());
        refused(format!("there is no template `{named}`; there are {}", names()))
    })?;
    let text = |text: &str| BlockContent::Text { text: text.to_owned() };
    let step = |(recipe, question): &(&str, &str)| BlockContent::Step {
        text: (*question).to_owned(),
        recipe: (*recipe).to_owned(),
        capture: None,
        view: String::new(),
    };
    let task = |task: &&str| BlockContent::Task { text: (*task).to_owned(), done: false };
    let blocks = std::iter::once(text(template.begins));
    Ok(blocks.chain(template.steps.iter().map(step)).chain(template.tasks.iter().map(task)).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn steps_name_recipes_that_there_are() {
        for template in &TEMPLATES {
            assert!(blocks_of(template.listed.name).unwrap().len() > 3);
            for (recipe, _question) in template.steps {
                assert!(bathyscope_catalog::recipes::recipe(recipe).is_some(), "{recipe}");
            }
        }
        let unknown = blocks_of("slow").unwrap_err().to_string();
        assert!(unknown.contains("slow-service, slow-machine"), "{unknown}");
    }
}
