import torch
import torchmetrics as tm
from torchmetrics import functional as F

from tests.parity.guests.parts import gradients, part, random


def labels(classes, *shape):
    return torch.randint(0, classes, shape)


def over_batches(*metrics, batches):
    for arguments in batches:
        for metric in metrics:
            metric.update(*arguments)
    return {type(metric).__name__: metric.compute() for metric in metrics}


@part
def classification():
    choice = {"task": "multiclass", "num_classes": 4}
    metrics = [tm.Accuracy(**choice, average="macro"), tm.F1Score(**choice), tm.Precision(**choice, average="weighted")]
    metrics += [tm.ConfusionMatrix(**choice), tm.CohenKappa(**choice), tm.MatthewsCorrCoef(**choice)]
    metrics += [tm.JaccardIndex(**choice), tm.CalibrationError(**choice, n_bins=5), tm.Specificity(**choice)]
    return over_batches(*metrics, batches=[(random(32, 4).softmax(-1), labels(4, 32)) for _ in range(3)])


@part
def curves():
    metrics = [tm.AUROC(task="binary"), tm.AveragePrecision(task="binary"), tm.ROC(task="binary", thresholds=7)]
    metrics += [tm.PrecisionRecallCurve(task="binary", thresholds=5)]
    return over_batches(*metrics, batches=[(random(40).sigmoid(), labels(2, 40)) for _ in range(3)])


@part
def regression():
    metrics = [tm.MeanSquaredError(), tm.MeanAbsoluteError(), tm.R2Score(), tm.ExplainedVariance()]
    metrics += [tm.PearsonCorrCoef(), tm.SpearmanCorrCoef(), tm.CosineSimilarity(), tm.KendallRankCorrCoef()]
    batches = [((x := random(20)), x + 0.3 * random(20)) for _ in range(3)]
    metrics[6:7] = []
    return over_batches(*metrics, batches=batches)


@part
def images():
    x, y = torch.rand(2, 3, 32, 32, requires_grad=True), torch.rand(2, 3, 32, 32)
    ssim = F.structural_similarity_index_measure(x, y, data_range=1.0)
    values = {"psnr": F.peak_signal_noise_ratio(x, y, data_range=1.0), "tv": F.total_variation(x)}
    values |= {"uqi": F.universal_image_quality_index(x, y), "sam": F.spectral_angle_mapper(x, y)}
    return gradients(ssim, x) | values


@part
def text_and_retrieval():
    values = {"edit": F.text.edit_distance(["gift", "kitten"], ["lift", "sitting"])}
    values["bleu"] = F.bleu_score(["the cat is on the mat"], [["there is a cat on the mat", "a cat is on the mat"]])
    values["wer"] = F.word_error_rate(["this is the answer"], ["that is an answer"])
    values["perplexity"] = F.text.perplexity(random(2, 8, 5), labels(5, 2, 8))
    metric = tm.retrieval.RetrievalNormalizedDCG()
    metric.update(torch.rand(20), labels(2, 20), indexes=torch.arange(20) // 5)
    return values | {"ndcg": metric.compute()}


@part
def collection():
    choice = {"task": "multiclass", "num_classes": 3}
    metrics = tm.MetricCollection({"acc": tm.Accuracy(**choice), "f1": tm.F1Score(**choice, average="macro")})
    tracker = tm.MetricTracker(metrics, maximize=[True, True])
    for _ in range(3):
        tracker.increment()
        tracker.update(random(30, 3), labels(3, 30))
    best, steps = tracker.best_metric(return_step=True)
    return {
        "all": tracker.compute_all(),
        "best": best,
        "steps": steps,
        "state": [m.tp for m in metrics.clone().values()],
    }


@part
def aggregation():
    mean, largest, cat = tm.MeanMetric(), tm.MaxMetric(), tm.CatMetric()
    running = tm.wrappers.Running(tm.SumMetric(), window=2)
    boot = tm.BootStrapper(tm.MeanSquaredError(), num_bootstraps=4)
    for _ in range(3):
        x = random(6)
        values = mean(x, weight=x.abs()), largest(x), cat(x), running(x), boot(x, x * 0.9)
    return {"last": values[:4], "mean": mean.compute(), "max": largest.compute(), "cat": cat.compute()} | boot.compute()
