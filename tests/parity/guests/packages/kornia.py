import kornia
import torch
from torch import nn

from tests.parity.guests.parts import gradients, part, random, trained


def image():
    return torch.rand(2, 3, 16, 16, requires_grad=True)


@part
def colors():
    x = image()
    chosen = [
        kornia.color.rgb_to_hsv,
        kornia.color.rgb_to_lab,
        kornia.color.rgb_to_ycbcr,
        kornia.color.rgb_to_grayscale,
    ]
    values = {function.__name__: function(x) for function in chosen}
    return gradients(sum(value.sum() for value in values.values()), x) | values


@part
def filters():
    x, f = image(), kornia.filters
    values = {"blur": f.gaussian_blur2d(x, (5, 5), (1.5, 1.5)), "sobel": f.sobel(x), "median": f.median_blur(x, (3, 3))}
    values |= {
        "laplacian": f.laplacian(x, 3),
        "unsharp": f.unsharp_mask(x, (3, 3), (1.0, 1.0)),
        "box": f.box_blur(x, 3),
    }
    values |= {"bilateral": f.bilateral_blur(x, (3, 3), 0.1, (1.5, 1.5)), "canny": f.canny(x)[0]}
    return gradients(sum(value.sum() for value in values.values()), x) | values


@part
def warps():
    x, angle = image(), torch.tensor([20.0, -35.0], requires_grad=True)
    turned = kornia.geometry.rotate(x, angle)
    matrix = torch.eye(3).repeat(2, 1, 1) + 0.01 * random(2, 3, 3)
    warped = kornia.geometry.warp_perspective(x, matrix, (16, 16))
    small = kornia.geometry.resize(x, (9, 7), antialias=True)
    return gradients(turned.pow(2).sum() + warped.sum() + small.sum(), x, angle) | {"turned": turned, "warped": warped}


@part
def rotations():
    axis = random(4, 3, grad=True)
    matrix = kornia.geometry.conversions.axis_angle_to_rotation_matrix(axis)
    quaternion = kornia.geometry.conversions.rotation_matrix_to_quaternion(matrix)
    return gradients((matrix * random(4, 3, 3)).sum(), axis) | {"matrix": matrix, "quaternion": quaternion}


@part
def losses():
    x, labels = random(2, 3, 8, 8, grad=True), torch.randint(0, 3, (2, 8, 8))
    named = kornia.losses
    loss = (
        named.focal_loss(x, labels, 0.5, 2.0, "mean")
        + named.dice_loss(x, labels)
        + named.tversky_loss(x, labels, 0.4, 0.6)
    )
    loss = loss + named.total_variation(x).mean() + named.ssim_loss(x.sigmoid(), torch.rand(2, 3, 8, 8), 5)
    return gradients(loss, x)


@part
def enhancement():
    x, e = image(), kornia.enhance
    values = {"gamma": e.adjust_gamma(x, 0.7), "equalized": e.equalize(x), "sharp": e.sharpness(x, 0.5)}
    values |= {"histogram": e.histogram(x[:, 0].flatten(1), torch.linspace(0, 1, 8), torch.tensor(0.1))}
    return values | {
        "normal": e.normalize(x, torch.full((3,), 0.5), torch.full((3,), 0.2)),
        "hue": e.adjust_hue(x, 0.3),
    }


@part
def augmentation():
    a = kornia.augmentation
    chain = nn.Sequential(
        a.RandomHorizontalFlip(p=0.5), a.RandomAffine(20.0, p=1.0), a.ColorJiggle(0.2, 0.2, 0.2, 0.1, p=1.0)
    )
    return chain(image())


@part
def registration():
    x = torch.rand(1, 1, 12, 12)
    model = nn.ParameterDict({"shift": torch.full((1, 2), 0.3)})
    wanted = kornia.geometry.translate(x, torch.tensor([[1.0, 0.5]]))
    return trained(model, lambda: (kornia.geometry.translate(x, model["shift"]) - wanted).pow(2).mean(), steps=4)
