//! A small neural network, read from a text and evaluated the same on every machine.
//!
//! It is the predictor of the predicted policy.

/// Layers of weights with `max(0, x)` between them. It uses additions, multiplications and
/// comparisons of IEEE doubles in a fixed order, and no library function, so the digits are the
/// same everywhere.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Network {
    /// Times before now whose levels are features, in milliseconds.
    pub lags_ms: Vec<u16>,
    layers: Vec<Layer>,
}

#[derive(Clone, Debug, PartialEq)]
struct Layer {
    inputs: usize,
    /// By output, its weights and then its bias.
    rows: Vec<Vec<f64>>,
}

impl Network {
    /// Reads `lags_ms A B ...`, then per layer `layer INPUTS OUTPUTS` and a line of weights and
    /// bias per output. Lines that start with `#` are comments.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut lines = text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty() && !l.starts_with('#'));
        let mut next = || lines.next().map(|(i, l)| (i + 1, l.split_whitespace().collect::<Vec<_>>()));
        let (_, first) = next().ok_or("an empty network")?;
        let lags = match first.split_first() {
            Some((&"lags_ms", lags)) => lags.iter().map(|w| w.parse().map_err(|_| format!("lag {w}"))).collect(),
            _ => Err("the first line is not `lags_ms`".to_owned()),
        };
        let mut network = Self { lags_ms: lags?, layers: Vec::new() };
        while let Some((line, words)) = next() {
            let size = |w: &str| w.parse::<usize>().ok().filter(|n| (1..=4096).contains(n));
            let (inputs, outputs) = match words[..] {
                ["layer", i, o] => size(i).zip(size(o)).ok_or(format!("line {line}: sizes from 1 to 4096"))?,
                _ => return Err(format!("line {line}: not `layer INPUTS OUTPUTS`")),
            };
            if network.layers.last().is_some_and(|l| l.rows.len() != inputs) {
                return Err(format!("line {line}: the layer before has another number of outputs"));
            }
            let mut rows = Vec::new();
            for _ in 0..outputs {
                let (line, words) = next().ok_or("the last layer is not whole")?;
                let row: Option<Vec<f64>> =
                    words.iter().map(|w| w.parse().ok().filter(|x: &f64| x.is_finite())).collect();
                let row = row.filter(|r| r.len() == inputs + 1);
                rows.push(row.ok_or(format!("line {line}: not {} finite numbers", inputs + 1))?);
            }
            network.layers.push(Layer { inputs, rows });
        }
        let one = network.layers.last().is_some_and(|l| l.rows.len() == 1);
        if one { Ok(network) } else { Err("the last layer has not one output".to_owned()) }
    }

    /// The number of features.
    pub fn inputs(&self) -> usize {
        self.layers[0].inputs
    }

    /// The output for these features.
    pub fn evaluate(&self, features: &[f64]) -> f64 {
        let mut values = features.to_vec();
        for (i, layer) in self.layers.iter().enumerate() {
            let last = i + 1 == self.layers.len();
            let sum = |row: &Vec<f64>| {
                let mut sum = row[layer.inputs];
                for (w, x) in row.iter().zip(&values) {
                    sum += w * x;
                }
                if last || sum > 0.0 { sum } else { 0.0 }
            };
            values = layer.rows.iter().map(sum).collect();
        }
        values[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_layers_by_hand() {
        let text = "# two features\nlags_ms 10 20\nlayer 2 2\n1 2 0.5\n-1 0 0\nlayer 2 1\n2 -3 1\n";
        let network = Network::parse(text).unwrap();
        assert_eq!((network.inputs(), &network.lags_ms[..]), (2, &[10, 20][..]));
        // (1 + 4 + 0.5, max(0, -1)) = (5.5, 0): 12; (-3 + 0.5 below 0: 0, 3): -8.
        assert_eq!((network.evaluate(&[1.0, 2.0]), network.evaluate(&[-3.0, 0.0])), (12.0, -8.0));
    }

    #[test]
    fn what_is_no_network_is_refused() {
        for text in [
            "",
            "layer 1 1\n1 1",
            "lags_ms x",
            "lags_ms 1",
            "lags_ms 1\nlayer 1 1\n1",
            "lags_ms 1\nlayer 1 1\n1 inf",
            "lags_ms 1\nlayer 1 2\n1 1\n1 1",
            "lags_ms 1\nlayer 1 2\n1 1\n1 1\nlayer 1 1\n1 1",
            "lags_ms 1\nlayer 0 1\n1",
            "lags_ms 1\nlayer 99999999 1\n1",
        ] {
            assert!(Network::parse(text).is_err(), "{text}");
        }
    }
}
