# Images as data: inputs of tc-run, data sets of tc-train, ONNX's ImageDecoder.
load common

setup() {
    images=$TC_ROOT/tests/oracle/images
    cd "$BATS_TEST_TMPDIR"
    cat >same.py <<'EOF'
import torch
class Same(torch.nn.Module):
    def forward(self, x):
        return x * 1
class Decode(torch.nn.Module):
    def forward(self, data):
        return torch.ops.image.decode_image(data, 3).permute(1, 2, 0).contiguous()
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.f = torch.nn.Linear(3, 2)
    def forward(self, x):
        return self.f(x.mean((2, 3)))
EOF
}

pbm() { # NAME WIDTH HEIGHT R G B: an image of one colour
    { printf 'P6 %d %d 255\n' "$2" "$3"; for _ in $(seq $(($2 * $3))); do printf "\\x$(printf %x "$4")\\x$(printf %x "$5")\\x$(printf %x "$6")"; done; } >"$1"
}

@test "an image becomes what the input asks for" {
    tc-export same.py:Same --input x=HxWx3xu8 -o hwc.pt2
    tc-run hwc.pt2 --input x=@"$images/rgb.png" --expect "@$images/expect.safetensors#rgb.png"
    tc-run hwc.pt2 --expect "@$images/expect.safetensors#rgb.jpg" --input @- <"$images/rgb.jpg"
    tc-export same.py:Decode --input data=Nxu8 -o decode.pt2
    tc-run decode.pt2 --input @"$images/lzw.tif" --expect "@$images/expect.safetensors#lzw.tif"
    tc-export decode.pt2 --to onnx -o decode.onnx
    tc-run decode.onnx --input @"$images/rgb.jpg" --expect "@$images/expect.safetensors#rgb.jpg"
    run --separate-stderr tc-export decode.pt2 --to onnx --opset 18 -o old.onnx
    [ "$status" -eq 5 ] && [[ "$stderr" == *decode_image* ]] || { echo "$stderr"; return 1; }
    pbm p.ppm 2 1 255 51 0
    tc-export same.py:Same --input x=Bx3xHxWxf32 -o nchw.pt2
    tc-run nchw.pt2 --input x=@p.ppm --output @x.npy
    tc-run nchw.pt2 --input x=1x3x1x2xf32=1,1,0.2,0.2,0,0 --expect @x.npy
    tc-export same.py:Same --input x=HxWxi64 -o grey.pt2
    tc-run grey.pt2 --input x=@p.ppm --output @x.npy # (9794 255 + 19235 51 + 16384) >> 15
    tc-run grey.pt2 --input x=1x2xi64=106 --expect @x.npy
}

@test "an image that is cut or does not fit is refused in one line" {
    tc-export same.py:Same --input x=Bx3xHxWxf32 -o nchw.pt2
    tc-export same.py:Same --input x=Nxf32 -o flat.pt2
    head -c 300 "$images/rgb.jpg" >cut.jpg
    run --separate-stderr tc-run nchw.pt2 --input x=@cut.jpg
    [ "$status" -eq 3 ] && [[ "$stderr" == "tc-run: input x: cut.jpg: JPEG: "* ]] || { echo "$stderr"; return 1; }
    run --separate-stderr tc-run flat.pt2 --input x=@"$images/rgb.png"
    [ "$status" -eq 3 ] && [[ "$stderr" == *"input x has 1 dimensions, expected 2 to 4"* ]] || { echo "$stderr"; return 1; }
}

@test "a folder a class is a data set, a list the same one" {
    mkdir -p train/blue train/red
    for i in 1 2 3 4; do pbm train/red/$i.ppm $((3 + i)) 4 $((150 + i)) 20 10; pbm train/blue/$i.ppm 4 $((3 + i)) 20 10 $((150 + i)); done
    touch train/red/notes.txt
    cat >r.yaml <<'EOF'
model: same.py:Net
input: x=Bx3x4x4xf32
seed: 1
data:
  size: [4, 4]
  normalize: {x: {divide: 255}}
  train: {images: train}
  val: {images: train}
batch: 4
steps: 40
loss: F.cross_entropy(out, y)
metrics: {acc: "(out.argmax(1) == y).float().mean()"}
validate: {every: 40}
optimizer: torch.optim.Adam(m.parameters(), lr=0.1)
EOF
    tc-train -v r.yaml -o run 2>err
    grep -q ", data 128, " err # 16 classes; the pixels are not held
    grep -q '"acc": 1.0}' run/metrics.jsonl
    (cd train; ls */*.ppm | sed 's|^\([a-z]*\)/.*|&, \1|') >train/list.tsv
    tc-train -q r.yaml 'data={size: [4, 4], normalize: {x: {divide: 255}}, train: {images: train/list.tsv}, val: {images: train}}' -o list
    diff <(sed 's/, "seconds.*//' run/metrics.jsonl) <(sed 's/, "seconds.*//' list/metrics.jsonl)
    run --separate-stderr tc-train -q r.yaml 'data={normalize: {x: {divide: 255}}, train: {images: train}}' -o none
    [ "$status" -ne 0 ] && [[ "$stderr" == *"ppm: "*" pixels, expected "*" as the first image has"* ]] || { echo "$stderr"; return 1; }
    ln -s nowhere train/red/9.ppm
    run --separate-stderr tc-train -q r.yaml -o none3
    [ "$status" -ne 0 ] && [[ "$stderr" == *red/9.ppm* ]] || { echo "$stderr"; return 1; }
    rm train/red/9.ppm
    ln -s .. train/red/up
    run --separate-stderr timeout 60 tc-train -q r.yaml -o none4
    [ "$status" -eq 3 ] && [[ "$stderr" == *red/up/*"a link to a folder that its class holds already"* ]] || { echo "$stderr"; return 1; }
    rm train/red/up
    echo "red/1.ppm" >train/list.tsv
    run --separate-stderr tc-train -q r.yaml 'data={train: {images: train/list.tsv}}' -o none2
    [ "$status" -eq 3 ] && [[ "$stderr" == *"list.tsv:1: expected FILE LABEL"* ]] || { echo "$stderr"; return 1; }
}
