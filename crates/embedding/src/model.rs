//! A model of the BERT kind: reads it from a folder and runs it, one text at a time.

use std::cell::OnceCell;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aws_lc_rs::digest::{Context, SHA256};
use rten::{NodeId, RunOptions, ThreadPool, Value};
use search::embed::{self, Embedder};

use crate::Error;
use crate::words::{self, Words};

/// Names of the file with the network, the first that exists is taken.
const FILES: [&str; 4] =
    ["model.onnx", "model_quantized.onnx", "onnx/model.onnx", "onnx/model_quantized.onnx"];
/// Largest file that is read; a model this large answers no query in time.
const MAX_FILE_BYTES: u64 = 1 << 30;

thread_local! {
    // The engine computes on threads of a pool, not on the caller's. A pool of one for each caller has the
    // caller's niceness, so that texts in the background do not hold up queries.
    static OWN_THREAD: OnceCell<Arc<ThreadPool>> = const { OnceCell::new() };
}

/// A sentence model. The same text always gives the same vector: texts are computed one by one, since numbers
/// of eight bits are scaled to all that is computed at once.
pub struct Model {
    name: String,
    network: rten::Model,
    words: Words,
    inputs: Vec<(NodeId, Input)>,
    output: NodeId,
}

/// What a network asks for.
#[derive(Clone, Copy)]
enum Input {
    /// The pieces of the text.
    Pieces,
    /// Which of them count; all, for lack of padding.
    Mask,
    /// Which sentence they belong to; always the first.
    Sentence,
}

impl Model {
    /// Reads `model.onnx` (or `model_quantized.onnx`, or either in `onnx/`) and `tokenizer.json` or `vocab.txt`.
    ///
    /// Takes a fraction of a second; not for threads that serve.
    pub fn load(folder: &Path) -> Result<Self, Error> {
        let (network_file, network_bytes) = read_first(folder, &FILES)?;
        let (words_file, words_bytes) = read_first(folder, &words::FILES)?;
        let mut digest = Context::new(&SHA256);
        digest.update(&network_bytes);
        digest.update(&words_bytes);
        let mut name = String::from("onnx-");
        for byte in digest.finish().as_ref().iter().take(16) {
            let _ = write!(name, "{byte:02x}");
        }
        let words = Words::read(&words_file, &words_bytes)?;
        let unfit = |reason: String| Error::Unfit { file: network_file.clone(), reason };
        let network = rten::Model::load(network_bytes).map_err(|error| unfit(error.to_string()))?;
        let name_of = |id: NodeId| network.node_info(id).and_then(|node| node.name().map(str::to_owned));
        let mut inputs = Vec::new();
        for id in network.input_ids() {
            let input = match name_of(*id).as_deref() {
                Some("input_ids") => Input::Pieces,
                Some("attention_mask") => Input::Mask,
                Some("token_type_ids") => Input::Sentence,
                other => return Err(unfit(format!("it asks for the input {other:?}"))),
            };
            inputs.push((*id, input));
        }
        let of_sentence = |id: &&NodeId| name_of(**id).as_deref() == Some("sentence_embedding");
        let outputs = network.output_ids();
        let output = outputs.iter().find(of_sentence).or(outputs.first()).copied();
        let output = output.ok_or_else(|| unfit("it has no output".into()))?;
        let model = Self { name, network, words, inputs, output };
        // What does not work should be known now.
        model.vector("a").map_err(unfit)?;
        Ok(model)
    }

    fn vector(&self, text: &str) -> Result<Vec<f32>, String> {
        let pieces = self.words.split(text)?;
        let shape = [1, pieces.len()];
        let row = |input: Input| match input {
            Input::Pieces => pieces.clone(),
            Input::Mask => vec![1; pieces.len()],
            Input::Sentence => vec![0; pieces.len()],
        };
        let mut inputs = Vec::with_capacity(self.inputs.len());
        for (id, input) in &self.inputs {
            let value = Value::from_shape(shape, row(*input)).map_err(|error| error.to_string())?;
            inputs.push((*id, value.into()));
        }
        let pool =
            OWN_THREAD.with(|own| own.get_or_init(|| Arc::new(ThreadPool::with_num_threads(1))).clone());
        let options = RunOptions::default().with_thread_pool(Some(pool));
        let outputs = self.network.run(inputs, &[self.output], Some(options));
        let [output] = <[Value; 1]>::try_from(outputs.map_err(|error| error.to_string())?)
            .map_err(|_| "it gave more than it was asked for".to_owned())?;
        pooled(output).ok_or_else(|| "its output is no vector".to_owned())
    }
}

impl Embedder for Model {
    fn model(&self) -> &str {
        &self.name
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, embed::Error> {
        texts.iter().map(|text| self.vector(text).map_err(embed::Error::Failed)).collect()
    }
}

/// Returns the mean of the vectors of all pieces, or the one vector of a network that sums up itself.
fn pooled(output: Value) -> Option<Vec<f32>> {
    let (width, numbers) = match output.clone().into_shape_vec::<f32, 3>() {
        Ok(([_, _, width], numbers)) => (width, numbers),
        Err(_) => {
            let ([_, width], numbers) = output.into_shape_vec::<f32, 2>().ok()?;
            (width, numbers)
        }
    };
    let mut sum = vec![0.0; width];
    for one in numbers.chunks_exact(width.max(1)) {
        sum.iter_mut().zip(one).for_each(|(sum, number)| *sum += number);
    }
    // Only the direction matters, so the sum does for the mean.
    (!sum.is_empty()).then_some(sum)
}

fn read_first(folder: &Path, names: &[&str]) -> Result<(PathBuf, Vec<u8>), Error> {
    let file = names.iter().map(|name| folder.join(name)).find(|file| file.is_file());
    let missing = || Error::Missing { folder: folder.to_path_buf(), wanted: names.join(" or ") };
    let file = file.ok_or_else(missing)?;
    let size = std::fs::metadata(&file).map(|found| found.len()).unwrap_or_default();
    if size > MAX_FILE_BYTES {
        return Err(Error::Unfit { file, reason: format!("it has more than {MAX_FILE_BYTES} bytes") });
    }
    match std::fs::read(&file) {
        Ok(bytes) => Ok((file, bytes)),
        Err(source) => Err(Error::Unreadable { file, source }),
    }
}

#[cfg(test)]
mod tests;
