# seed TARGET FOLDER: copies the committed seeds of a fuzz target: files of tests/fuzz/seeds/TARGET, PyTorch's own from tests/oracle, the bad files of
# tests/bad, model sources. Sourced from the root of the repository by tests/fuzz/run and tests/fuzz/cover.
seed() {
    local f to=$2
    [ -d "tests/fuzz/seeds/$1" ] && cp tests/fuzz/seeds/"$1"/* "$to/"
    case $1 in
    zip) cp tests/oracle/pt2/*.pt2 tests/bad/*.pt2 tests/bad/*.np? tests/bad/*.pt tests/bad/*.pth "$to/" ;;
    onnx)
        for f in tests/oracle/onnx/node/*; do
            cp "$f/model.onnx" "$to/${f##*/}.onnx"
            cp "$f/test_data_set_0/input_0.pb" "$to/${f##*/}.pb"
        done
        cp tests/bad/*.onnx "$to/"
        ;;
    image) cp tests/oracle/images/* "$to/" ;;
    tensors) cp tests/oracle/pt2/*.safetensors tests/bad/*.npy tests/bad/*.safetensors "$to/" ;;
    saved) cp tests/bad/*.pt tests/bad/*.pth tests/bad/*.tar tests/bad/*.npz "$to/" ;;
    dcp) for f in tests/bad/*/.metadata tests/bad/*/*.json; do cp "$f" "$to/$(tr / - <<<"$f")"; done ;;
    lang) cp tests/language/*.py tc-train/examples/*.py "$to/" ;;
    json | pt2)
        for f in tests/oracle/pt2/*.pt2 tests/bad/*.pt2; do
            unzip -p "$f" '*/models/*.json' >"$to/${f##*/}.json" 2>/dev/null
            [ -s "$to/${f##*/}.json" ] || rm -f "$to/${f##*/}.json"
        done
        ;;
    esac
}
